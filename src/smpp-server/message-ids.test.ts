import { beforeAll, expect, test } from 'vitest';
import { textOf } from '../../test/support/carriers/smpp-library-client.ts';
import { testDatabase } from '../../test/support/database.ts';
import { bindAs, connectRaw, newCredential, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { many, one, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { EMPTY_MESSAGE, encodePdu } from '../smpp/pdu.ts';
import { STATUS as SMPP } from '../smpp/status.ts';
import { cStringValue } from '../smpp/wire.ts';
import { smppOutboxTasks } from '../webhooks/smpp-outbox.ts';
import { CLIENT_ID_TAG } from './read-submit.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const NUMBER = '351912345678';
const LATER = { schedule_delivery_time: '000000010000000R' };
const OLD = { interface_version: 0x33 };
const NEW = { interface_version: 0x34 };
const named = (message_id: unknown, more: object = {}) => ({ message_id, source_addr: 'ACME', ...more });

test.each([
  ['uuid', NEW, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  ['hex', NEW, /^[0-9a-f]{32}$/],
  ['decimal', NEW, /^[1-9]\d{0,18}$/],
  ['uuid', OLD, /^[1-9a-f][0-9a-f]{0,7}$/],
  ['hex', OLD, /^[1-9a-f][0-9a-f]{0,7}$/],
  ['decimal', OLD, /^[1-9]\d{0,7}$/],
] as const)(
  'an id in the format %s to %j is found after a restart, and its receipt names it',
  async (messageIds, version, format) => {
    const before = await startServer(database);
    const credential = await newCredential(pool, accountId, { messageIds });
    const first = await bindAs(before, credential, 'transceiver', version);
    const ids = [];
    for (const registered_delivery of [0, 1]) {
      const { message_id } = await first.submit(NUMBER, { ...LATER, registered_delivery });
      expect(message_id).toMatch(format);
      ids.push(message_id);
    }
    await before.stop();

    const client = await bindAs(await startServer(database), credential, 'transceiver', version);
    const { message_id: next } = await client.submit(NUMBER, LATER);
    expect(new Set([...ids, next]).size).toBe(3);
    for (const [at, id] of ids.entries()) {
      const statusOf = async (command: string, more: object = {}) =>
        (await client.request(command, named(id, more))).command_status;
      const written = String(id).toUpperCase();
      expect(await client.request('query_sm', named(written))).toMatchObject({ message_id: written, message_state: 1 });
      for (const text of ['second', 'third'])
        expect(await statusOf('replace_sm', { short_message: Buffer.from(text), registered_delivery: at })).toBe(0);
      expect(await statusOf('cancel_sm')).toBe(0);
      expect(await client.request('query_sm', named(id))).toMatchObject({ message_state: 4 });
    }
    await client.until(() => client.received.length === 1);
    expect(textOf(client.received[0])).toContain(`id:${ids[1]} `);
  },
);

test('short ids belong to their credential, and several processes give out different ones', async () => {
  const servers = [await startServer(database), await startServer(database)];
  const [mine, other] = [await newCredential(pool, accountId), await newCredential(pool, accountId)];
  const clients = await Promise.all(servers.map((server) => bindAs(server, mine, 'transmitter', OLD)));
  const answers = await Promise.all(
    clients.flatMap((client) => Array.from({ length: 20 }, () => client.submit(NUMBER))),
  );
  const ids = new Set(answers.map(({ message_id }) => message_id));
  expect([ids.has(''), ids.size]).toEqual([false, 40]);
  const otherClient = await bindAs(await startServer(database), other, 'transmitter', OLD);
  const [id] = ids;
  expect((await otherClient.request('query_sm', named(id))).command_status).toBe(SMPP.ESME_RINVMSGID);
});

test('a repeated submit gets the short id of the first', async () => {
  const server = await startServer(database);
  const { systemId, password } = await newCredential(pool, accountId, { messageIds: 'decimal' });
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const content = {
    source: 'ACME',
    shortMessage: Buffer.from('once'),
    tlvs: new Map([[CLIENT_ID_TAG, cStringValue('order-1')]]),
  };
  const destinations = [{ ton: 1, npi: 1, address: NUMBER }];
  for (const sequence of [2, 3]) {
    client.send(
      encodePdu({ ...EMPTY_MESSAGE, command: 'submit_sm', status: 0, sequence, destination: NUMBER, ...content }),
    );
    await until('it gets a response', () => client.received.length === 2 * sequence - 2);
    const all = { ...EMPTY_MESSAGE, command: 'submit_multi', destinations, ...content } as const;
    client.send(encodePdu({ ...all, status: 0, sequence: 10 + sequence }));
    await until('it gets a response', () => client.received.length === 2 * sequence - 1);
  }
  const [one, all, ...again] = client.received.slice(1).map((pdu) => 'messageId' in pdu && pdu.messageId);
  expect([one, all]).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)]);
  expect(one).not.toBe(all);
  expect(again).toEqual([one, all]);
});

test('short ids are kept as long as their messages', async () => {
  const client = await bindAs(await startServer(database), await newCredential(pool, accountId), 'transmitter', OLD);
  const { message_id } = await client.submit(NUMBER, { registered_delivery: 0 });
  await client.submit(NUMBER, { registered_delivery: 0 });
  const row = await one<{ id: string }>(
    pool,
    sql`SELECT message_id AS id FROM smpp_receipt WHERE shown_id = ${String(message_id)}
        ORDER BY message_id DESC LIMIT 1`,
  );
  await pool.query('DELETE FROM message WHERE id = $1', [row.id]);
  const rows = () => many<{ id: string }>(pool, sql`SELECT message_id AS id FROM smpp_receipt`);
  const [before, tomorrow] = [await rows(), { now: () => new Date(Date.now() + 2 * 86_400_000) }];
  const [task] = smppOutboxTasks({ pool, clock: tomorrow, config: { retentionDays: 1 } });
  while ((await task?.work()) === 0);
  expect((await rows()).map(({ id }) => id)).toEqual(before.map(({ id }) => id).filter((id) => id !== row.id));
});

import { beforeAll, describe, expect, test } from 'vitest';
import { EMPTY_MESSAGE, encodePdu } from '../../carriers/smpp/pdu.ts';
import { STATUS } from '../../carriers/smpp/status.ts';
import { cStringValue } from '../../carriers/smpp/tlv.ts';
import { createWaker } from '../../network/dispatch/wake.ts';
import { createAccount } from '../../operations/accounts/create.ts';
import { many, one, sql } from '../../platform/db/query.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { freeOver } from '../../../test/support/drafts.ts';
import { bindAs, connectRaw, newCredential, startServer, storingAccept } from '../../../test/support/smpp-server.ts';
import { until } from '../../../test/support/until.ts';
import { type Accept, createAccept } from '../sending/accept.ts';
import { CLIENT_ID_TAG } from './read-submit.ts';
import { OWN_STATUS } from './statuses.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const NUMBER = '351912345678';
const messageOf = (id: unknown) =>
  one<{ body: string; sender: string; destination: string; source: string }>(
    pool,
    sql`SELECT body, sender, destination, source FROM message WHERE id = ${String(id)}::uuid`,
  );
async function bindNew(settings: Parameters<typeof newCredential>[2] = {}, options = {}) {
  const server = await startServer(database, options);
  return bindAs(server, await newCredential(pool, accountId, settings), 'transceiver');
}

test('an id is answered when its message is committed, with what was submitted', async () => {
  const client = await bindNew();
  const { command_status, message_id } = await client.submit(NUMBER, { short_message: Buffer.from('Hello') });
  expect(command_status).toBe(0);
  expect(await messageOf(message_id)).toEqual({
    body: 'Hello',
    sender: 'ACME',
    destination: `+${NUMBER}`,
    source: 'API',
  });
});

test('ids are written as the credential says', async () => {
  const hex = await bindNew({ messageIds: 'hex' });
  expect((await hex.submit(NUMBER))['message_id']).toMatch(/^[0-9a-f]{32}$/);
  const decimal = await bindNew({ messageIds: 'decimal' });
  const id = (await decimal.submit(NUMBER))['message_id'];
  expect(id).toMatch(/^\d{37,38}$/);
  expect((await decimal.request('query_sm', { message_id: id, source_addr: 'ACME' })).command_status).toBe(0);
});

describe('a refusal has its status, and stores nothing', () => {
  test.each([
    ['no route', { destination_addr: '441234567890' }, OWN_STATUS.no_route],
    ['no number', { destination_addr: '1' }, STATUS.ESME_RINVDSTADR],
    ['no sender', { source_addr: 'Far too long a name' }, STATUS.ESME_RINVSRCADR],
    ['no text', { short_message: Buffer.alloc(0) }, STATUS.ESME_RINVMSGLEN],
    ['a validity that is over', { validity_period: '200101000000000+' }, STATUS.ESME_RINVEXPIRY],
  ])('%s', async (_, fields, status) => {
    const client = await bindNew();
    const before = await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM message`);
    expect((await client.submit(NUMBER, fields)).command_status).toBe(status);
    expect(await one(pool, sql`SELECT count(*)::int AS n FROM message`)).toEqual(before);
  });

  test('an opted-out number', async () => {
    const client = await bindNew();
    await pool.query(
      `INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES ($1, '+351912000000', 'SMS', 'API')`,
      [accountId],
    );
    expect((await client.submit('351912000000')).command_status).toBe(OWN_STATUS.opted_out);
  });

  test('insufficient credit', async () => {
    const poor = await createAccount(pool, { name: 'Poor', plan: 'production', creditMicros: 0 });
    const tables = { ...freeOver(() => [1]), findPrice: () => ({ unitMicros: 5, refundUndelivered: false }) };
    const accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
    const server = await startServer(database, { accept });
    const client = await bindAs(server, await newCredential(pool, poor.accountId));
    expect((await client.submit(NUMBER)).command_status).toBe(OWN_STATUS.no_credit);
  });
});

test("a client's own id makes a repeated submit the same message, and other content a conflict", async () => {
  const server = await startServer(database);
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const submit = (sequence: number, text: string): void =>
    client.send(
      encodePdu({
        ...EMPTY_MESSAGE,
        command: 'submit_sm',
        status: 0,
        sequence,
        source: 'ACME',
        destination: NUMBER,
        shortMessage: Buffer.from(text),
        tlvs: new Map([[CLIENT_ID_TAG, cStringValue('order-1')]]),
      }),
    );
  submit(2, 'once');
  submit(3, 'once');
  submit(4, 'twice');
  await until('all are answered', () => client.received.length === 4);
  const [first, second, third] = client.received.slice(1).sort((a, b) => a.sequence - b.sequence);
  expect([first?.status, second?.status, third?.status]).toEqual([0, 0, STATUS.ESME_RSUBMITFAIL]);
  expect(second).toMatchObject({ messageId: first && 'messageId' in first ? first.messageId : '' });
});

test('beyond its rate a client is throttled, and another one is not', async () => {
  const server = await startServer(database);
  const slow = await bindAs(server, await newCredential(pool, accountId, { tps: 3 }));
  const other = await bindAs(server, await newCredential(pool, accountId));
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await slow.submit(NUMBER)).command_status),
  );
  expect(new Set(statuses)).toEqual(new Set([0, STATUS.ESME_RTHROTTLED]));
  expect(statuses.filter((status) => status === 0).length).toBeLessThanOrEqual(6);
  expect((await other.submit(NUMBER)).command_status).toBe(0);
});

test('no more requests are read than the window holds before they are answered', async () => {
  const storing = storingAccept(pool);
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const accept: Accept = {
    ...storing,
    async one(...given) {
      begun += 1;
      await gate.promise;
      return storing.one(...given);
    },
  };
  const client = await bindNew({ window: 5 }, { accept });
  const submits = Array.from({ length: 200 }, () => client.submit(NUMBER));
  await until('five are read', () => begun === 5);
  // A second client shows that the server works meanwhile; what the first sent has long arrived.
  const enquiry = (await bindNew()).request('enquire_link');
  expect((await enquiry).command_status).toBe(0);
  expect(begun).toBe(5);
  gate.resolve();
  expect(new Set((await Promise.all(submits)).map((pdu) => pdu.command_status))).toEqual(new Set([0]));
  expect(begun).toBe(200);
});

test('a failure of the database is temporary, and the bind stays', async () => {
  const storing = storingAccept(pool);
  let failures = 1;
  const accept: Accept = {
    ...storing,
    one: (...given) => (failures-- > 0 ? Promise.reject(new Error('the server is away')) : storing.one(...given)),
  };
  const client = await bindNew({}, { accept });
  expect((await client.submit(NUMBER)).command_status).toBe(STATUS.ESME_RSYSERR);
  expect((await client.submit(NUMBER)).command_status).toBe(0);
});

test('data_sm and submit_multi send, the latter to each number it can', async () => {
  const client = await bindNew();
  const data = await client.request('data_sm', {
    source_addr_ton: 5,
    source_addr: 'ACME',
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: NUMBER,
    message_payload: Buffer.from('by data'),
  });
  expect(data.command_status).toBe(0);
  expect(await messageOf(data['message_id'])).toMatchObject({ body: 'by data' });
  const multi = await client.request('submit_multi', {
    source_addr_ton: 5,
    source_addr: 'ACME',
    dest_address: ['351912345001', '441234567890', '351912345002'].map((destination_addr) => ({
      dest_addr_ton: 1,
      dest_addr_npi: 1,
      destination_addr,
    })),
    short_message: Buffer.from('to many'),
  });
  expect(multi.command_status).toBe(0);
  expect(multi['unsuccess_sme']).toMatchObject([
    { destination_addr: '441234567890', error_status_code: OWN_STATUS.no_route },
  ]);
  const sent = await many<{ destination: string }>(
    pool,
    sql`SELECT destination FROM message WHERE body = 'to many' ORDER BY destination`,
  );
  expect(sent.map(({ destination }) => destination)).toEqual(['+351912345001', '+351912345002']);
});

describe('a message that was submitted', () => {
  test('is found by its id and its sender, by its own account alone', async () => {
    const client = await bindNew();
    const { message_id } = await client.submit(NUMBER);
    expect(await client.request('query_sm', { message_id, source_addr: 'ACME' })).toMatchObject({
      command_status: 0,
      message_id,
      message_state: 1,
      error_code: 0,
    });
    const other = await createAccount(pool, { name: 'Stranger', plan: 'unlimited', ratePerMinute: 0 });
    const server = await startServer(database);
    const stranger = await bindAs(server, await newCredential(pool, other.accountId));
    for (const request of ['query_sm', 'cancel_sm', 'replace_sm'])
      expect((await stranger.request(request, { message_id, source_addr: 'ACME' })).command_status).toBe(
        STATUS.ESME_RINVMSGID,
      );
    expect((await client.request('query_sm', { message_id, source_addr: 'OTHER' })).command_status).toBe(
      STATUS.ESME_RINVMSGID,
    );
  });

  test('is cancelled while it waits, once', async () => {
    const client = await bindNew();
    const { message_id } = await client.submit(NUMBER, { schedule_delivery_time: '000000010000000R' });
    const cancel = () => client.request('cancel_sm', { message_id, source_addr: 'ACME' });
    expect((await cancel()).command_status).toBe(0);
    expect((await cancel()).command_status).toBe(STATUS.ESME_RCANCELFAIL);
    expect(await client.request('query_sm', { message_id, source_addr: 'ACME' })).toMatchObject({ message_state: 4 });
    expect((await client.request('cancel_sm', { message_id: '', source_addr: 'ACME' })).command_status).toBe(
      STATUS.ESME_RCANCELFAIL,
    );
  });

  test('is not replaced', async () => {
    const client = await bindNew();
    const { message_id } = await client.submit(NUMBER);
    expect((await client.request('replace_sm', { message_id, source_addr: 'ACME' })).command_status).toBe(
      STATUS.ESME_RREPLACEFAIL,
    );
  });
});

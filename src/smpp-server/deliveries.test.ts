import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statesOf, textOf } from '../../test/support/carriers/smpp-library-client.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { bindAs, newCredential, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { createAccount } from '../operate/account-commands.ts';
import { STATUS as SMPP } from '../smpp/status.ts';
import { publishEvents } from '../webhooks/outbox.ts';
import { TIMING } from './session.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});
beforeEach(() => reset(pool, sql`TRUNCATE smpp_receipt, smpp_outbox, smpp_credential, inbound_message`));

const NUMBER = '351912345678';
const waiting = async (): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM smpp_outbox`)).n;
const asked = async (): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM smpp_receipt`)).n;

/** Publishes a state of a message, like every change of one. */
const reach = (messageId: unknown, status: number): Promise<void> =>
  transaction(pool, (tx) =>
    publishEvents(tx, [{ accountId, kind: 'DELIVERY', messageId: String(messageId), status, at: new Date() }]),
  );

/** Stores an inbound message and publishes it, as the inbox does. */
async function arrive(body: string): Promise<string> {
  const id = newId();
  await transaction(pool, async (tx) => {
    await tx.query(
      `INSERT INTO inbound_message (account_id, id, connection_id, source, destination, body, octets, parts, parts_received, received_at)
       VALUES ($1, $2, 1, '351912345678', '4040', $3, '', 1, 1, now())`,
      [accountId, id, body],
    );
    await publishEvents(tx, [{ accountId, kind: 'INBOUND', messageId: id }]);
  });
  return id;
}

describe('receipts', () => {
  test('reach the receiver of the credential that asked for them, and no other', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId);
    const other = await bindAs(server, await newCredential(pool, accountId));
    const sender = await bindAs(server, credential, 'transmitter');
    const receiver = await bindAs(server, credential, 'receiver');
    const { message_id } = await sender.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    await receiver.until(() => receiver.received.length === 1);
    expect(textOf(receiver.received[0])).toContain(`id:${message_id} sub:001 dlvrd:001`);
    expect(receiver.received[0]).toMatchObject({
      esm_class: 4,
      source_addr: NUMBER,
      destination_addr: 'ACME',
      receipted_message_id: message_id,
      message_state: 2,
    });
    // Receivers take turns, so one alone could go to the right one by chance.
    for (let sent = 2; sent <= 4; sent++) {
      const more = await sender.submit(NUMBER, { registered_delivery: 1 });
      await reach(more['message_id'], STATUS.DELIVERED);
      await receiver.until(() => receiver.received.length === sent);
    }
    await until('nothing waits', async () => (await waiting()) === 0);
    expect([other.received, sender.received, await asked()]).toEqual([[], [], 0]);
  });

  test.each([
    [0, [], []],
    [1, ['DELIVRD'], ['UNDELIV']],
    [2, [], ['UNDELIV']],
    [3, ['DELIVRD'], []],
    [0x11, ['ENROUTE', 'DELIVRD'], ['ENROUTE', 'UNDELIV']],
    [0x10, ['ENROUTE'], ['ENROUTE']],
  ])('with registered_delivery %d are %j for a success and %j for a failure', async (registered, success, failure) => {
    const server = await startServer(database);
    const client = await bindAs(server, await newCredential(pool, accountId));
    for (const [status, expected] of [
      [STATUS.DELIVERED, success],
      [STATUS.UNDELIVERABLE, failure],
    ] as const) {
      const before = client.received.length;
      const { message_id } = await client.submit(NUMBER, { registered_delivery: registered });
      await reach(message_id, STATUS.ACCEPTED);
      await reach(message_id, status);
      await client.until(() => client.received.length >= before + expected.length);
      await until('nothing waits', async () => (await waiting()) === 0);
      expect(statesOf(client).slice(before)).toEqual(expected);
    }
  });

  test('wait for a receiver, through a restart of the server', async () => {
    const credential = await newCredential(pool, accountId);
    const first = await startServer(database);
    const sender = await bindAs(first, credential, 'transmitter');
    const { message_id } = await sender.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.EXPIRED);
    await first.stop();
    expect(await waiting()).toBe(1);
    const client = await bindAs(await startServer(database), credential);
    await client.until(() => client.received.length === 1);
    expect(statesOf(client)).toEqual(['EXPIRED']);
  });

  test('that are under way when the server stops are settled by the responses that come meanwhile', async () => {
    const server = await startServer(database);
    const client = await bindAs(server, await newCredential(pool, accountId));
    client.answerWith = (pdu) => (pdu.command === 'deliver_sm' ? null : 0);
    const { message_id } = await client.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    await client.until(() => client.received.length === 1);
    const stopped = server.stop();
    const [receipt] = client.received;
    if (receipt) client.answer(receipt, 0);
    await stopped;
    expect(await waiting()).toBe(0);
    expect(client.log.at(-1)).toBe('unbind');
  });

  test('that get no response are sent again when the bind has ended, to another one', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId);
    const mute = await bindAs(server, credential);
    mute.answerWith = () => null;
    const { message_id } = await mute.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    await mute.until(() => mute.received.length === 1);
    await mute.close();
    const next = await bindAs(server, credential);
    await next.until(() => next.received.length === 1);
    expect(statesOf(next)).toEqual(['DELIVRD']);
    await until('nothing waits', async () => (await waiting()) === 0);
  });

  test('of a process that died are sent by another one', async () => {
    const credential = await newCredential(pool, accountId);
    const server = await startServer(database);
    const client = await bindAs(server, credential, 'transmitter');
    const { message_id } = await client.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    // As a process that was killed leaves it: no session has this lock.
    await pool.query('UPDATE smpp_outbox SET owner = 1');
    const receiver = await bindAs(server, credential, 'receiver');
    await receiver.until(() => receiver.received.length === 1);
  });

  test('are sent again after a temporary error, and dropped after a permanent one', async () => {
    const server = await startServer(database);
    const client = await bindAs(server, await newCredential(pool, accountId));
    client.answerWith = () => SMPP.ESME_RX_T_APPN;
    const { message_id } = await client.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    await until('it waits for another attempt', async () => {
      const [row] = await many<{ failures: number }>(pool, sql`SELECT failures FROM smpp_outbox WHERE owner IS NULL`);
      return row?.failures === 1;
    });
    client.answerWith = () => SMPP.ESME_RX_R_APPN;
    await pool.query('UPDATE smpp_outbox SET due_at = now()');
    await until('it is dropped', async () => (await waiting()) === 0);
    expect(client.received).toHaveLength(2);
  });

  test('of one message come in order: the next is sent when the one before gets a response', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId);
    const client = await bindAs(server, credential);
    client.answerWith = () => null;
    const { message_id } = await client.submit(NUMBER, { registered_delivery: 0x11 });
    await reach(message_id, STATUS.ACCEPTED);
    await reach(message_id, STATUS.DELIVERED);
    await client.until(() => client.received.length === 1);
    const later = await client.submit(NUMBER, { registered_delivery: 1 });
    await reach(later['message_id'], STATUS.DELIVERED);
    await client.until(() => client.received.length === 2);
    expect(statesOf(client)).toEqual(['ENROUTE', 'DELIVRD']);
    expect(textOf(client.received[1])).toContain(String(later['message_id']));
    const [first] = client.received;
    if (first) client.answer(first, 0);
    await client.until(() => client.received.length === 3);
    expect(textOf(client.received[2])).toContain(`id:${message_id} sub:001 dlvrd:001`);
  });

  test('are spread over binds within their windows', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId, { maxBinds: 3, window: 2 });
    const sender = await bindAs(server, credential, 'transmitter');
    const receivers = await Promise.all([1, 2].map(() => bindAs(server, credential, 'receiver')));
    for (const receiver of receivers) receiver.answerWith = () => null;
    const submits = await Promise.all(
      Array.from({ length: 10 }, () => sender.submit(NUMBER, { registered_delivery: 1 })),
    );
    for (const { message_id } of submits) await reach(message_id, STATUS.DELIVERED);
    await until('both windows are full', () => receivers.every((receiver) => receiver.received.length === 2));
    for (const receiver of receivers) {
      receiver.answerWith = () => 0;
      for (const pdu of receiver.received.slice()) receiver.answer(pdu, 0);
    }
    await until('nothing waits', async () => (await waiting()) === 0);
    const texts = receivers.flatMap((receiver) => receiver.received.map((pdu) => textOf(pdu)));
    expect(new Set(texts).size).toBe(10);
    expect(texts).toHaveLength(10);
  });

  test('of a submit_multi name the id of its response', async () => {
    const server = await startServer(database);
    const client = await bindAs(server, await newCredential(pool, accountId));
    const multi = await client.request('submit_multi', {
      source_addr: 'ACME',
      source_addr_ton: 5,
      registered_delivery: 1,
      dest_address: ['351912345001', '351912345002'].map((destination_addr) => ({
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr,
      })),
      short_message: Buffer.from('to both'),
    });
    const rows = await many<{ id: string }>(pool, sql`SELECT message_id AS id FROM smpp_receipt`);
    expect(rows).toHaveLength(2);
    for (const { id } of rows) await reach(id, STATUS.DELIVERED);
    await client.until(() => client.received.length === 2);
    expect(client.received.map((pdu) => pdu['receipted_message_id'])).toEqual([
      multi['message_id'],
      multi['message_id'],
    ]);
    expect(client.received.map((pdu) => pdu['source_addr']).sort()).toEqual(['351912345001', '351912345002']);
  });

  test('of a credential that was deleted are not kept', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId);
    const client = await bindAs(server, credential);
    const { message_id } = await client.submit(NUMBER, { registered_delivery: 1 });
    await pool.query('DELETE FROM smpp_credential');
    await reach(message_id, STATUS.DELIVERED);
    expect([await waiting(), await asked()]).toEqual([0, 0]);
  });

  test('that cannot be written do not keep the others from their receiver', async () => {
    const server = await startServer(database);
    const credential = await newCredential(pool, accountId);
    const sender = await bindAs(server, credential, 'transmitter');
    const submits = await Promise.all([1, 2, 3].map(() => sender.submit(NUMBER, { registered_delivery: 1 })));
    for (const { message_id } of submits) await reach(message_id, STATUS.DELIVERED);
    const [broken] = submits;
    await pool.query(`UPDATE smpp_outbox SET source = repeat('x', 30) WHERE message_id = $1`, [broken?.['message_id']]);
    const receiver = await bindAs(server, credential, 'receiver');
    await receiver.until(() => receiver.received.length === 2);
    await until('the other one waits', async () => {
      const rows = await many<{ failures: number }>(pool, sql`SELECT failures FROM smpp_outbox WHERE owner IS NULL`);
      return rows.length === 1 && rows[0]?.failures === 1;
    });
  });

  test('to a client that responds to none of them go to another bind in the end', async () => {
    const server = await startServer(database, { timing: { ...TIMING, answerMs: 300 } });
    const credential = await newCredential(pool, accountId);
    const mute = await bindAs(server, credential);
    mute.answerWith = (pdu) => (pdu.command === 'deliver_sm' ? null : 0);
    const { message_id } = await mute.submit(NUMBER, { registered_delivery: 1 });
    await reach(message_id, STATUS.DELIVERED);
    await mute.closed;
    const next = await bindAs(server, credential);
    await next.until(() => next.received.length >= 1);
    expect(statesOf(next)).toContain('DELIVRD');
  });
});

describe('inbound messages', () => {
  test('reach one receiver that takes them', async () => {
    const server = await startServer(database);
    const silent = await bindAs(server, await newCredential(pool, accountId, { inbound: false }));
    const client = await bindAs(server, await newCredential(pool, accountId));
    await arrive('Hello gateway');
    await client.until(() => client.received.length === 1);
    expect(client.received[0]).toMatchObject({ source_addr: '351912345678', destination_addr: '4040', esm_class: 0 });
    expect(textOf(client.received[0])).toBe('Hello gateway');
    await until('nothing waits', async () => (await waiting()) === 0);
    expect(silent.received).toEqual([]);
  });

  test('of an account without a credential that takes them are not put aside', async () => {
    await newCredential(pool, accountId, { inbound: false });
    await arrive('for nobody');
    expect(await waiting()).toBe(0);
  });

  test('wait for a receiver of any credential', async () => {
    const credential = await newCredential(pool, accountId);
    await arrive('early');
    expect(await waiting()).toBe(1);
    const client = await bindAs(await startServer(database), credential, 'receiver');
    await client.until(() => client.received.length === 1);
  });
});

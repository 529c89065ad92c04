import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReceiptState } from '../../src/channels/carrier.ts';
import { exec, many, sql } from '../../src/core/db/query.ts';
import { DAY_MS } from '../../src/core/time.ts';
import { insertReceiptBatches } from '../../src/messages/receipt-store.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import type { Client } from '../support/client.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { receipt } from '../support/receipts.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

const MESSAGES = '/api/partner-gateway/v1/messages';
const LATER = new Date(Date.now() + 7 * DAY_MS).toISOString();

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

async function payer(): Promise<Client> {
  const account = await createAccount(program.pool, { name: 'Payer', plan: 'production', creditMicros: 1_000_000 });
  return program.clientOf(account.apiKey);
}
const creditOf = async (client: Client): Promise<unknown> =>
  (await client.request('GET', '/api/partner-gateway/v1/subscription/credit')).body;

async function schedule(client: Client, destination: string): Promise<string> {
  const body = { destination, sender: 'ACME', body: 'Later', scheduledDate: LATER };
  return (await client.sendAsMessageServer(body)).messageId ?? '';
}
const takenBy = (destination: string): number =>
  listTaken(program.smsc).filter((message) => `+${message.destination}` === destination).length;

describe('cancelling', () => {
  test('of a scheduled message ends it as DELETED and refunds it; a second time is a conflict', async () => {
    const client = await payer();
    const id = await schedule(client, '+393331237001');
    expect(await creditOf(client)).toMatchObject({ availableCredit: 0.965, frozenCredit: 0.035 });
    expect((await client.request('DELETE', `${MESSAGES}/${id}`)).status).toBe(204);
    expect(await client.status(id)).toMatchObject({ deliveryStatus: 'DELETED', errorCode: 'CANCELLED' });
    expect(await creditOf(client)).toMatchObject({ availableCredit: 1, frozenCredit: 0 });
    expect((await client.request('DELETE', `${MESSAGES}/${id}`)).status).toBe(409);
    expect(takenBy('+393331237001')).toBe(0);
  });

  test('of one message of a bulk send leaves the others', async () => {
    const client = await payer();
    const destinations = ['+393331237002', '+393331237003', '+393331237004'];
    const message = { destinations, sender: 'ACME', body: 'Later', scheduling: LATER };
    const ids = (await client.bulk({ messages: [message] })).results.map((result) => result.id ?? '');
    expect((await client.request('DELETE', `${MESSAGES}/${ids[1]}`)).status).toBe(204);
    await exec(program.pool, sql`UPDATE dispatch_chunk SET available_at = now() WHERE scheduled`);
    await client.untilStatus(ids[0] ?? '', 'DELIVERED');
    await client.untilStatus(ids[2] ?? '', 'DELIVERED');
    expect(await client.status(ids[1] ?? '')).toMatchObject({ deliveryStatus: 'DELETED' });
    expect(destinations.map(takenBy)).toEqual([1, 0, 1]);
  });

  test("of a sent message is a conflict; an unknown message and another account's are not found", async () => {
    const [client, otherClient] = [await payer(), await payer()];
    const { messageId } = await client.send({ phoneNumber: '+393331237005', message: 'Hello' });
    await client.untilStatus(messageId ?? '', 'DELIVERED');
    expect((await client.request('DELETE', `${MESSAGES}/${messageId}`)).status).toBe(409);
    expect((await otherClient.request('DELETE', `${MESSAGES}/${messageId}`)).status).toBe(404);
    expect((await client.request('DELETE', `${MESSAGES}/not-an-id`)).status).toBe(404);
  });
});

async function carrierIdOf(id: string): Promise<string | null> {
  const [row] = await many<{ carrierId: string | null }>(
    program.pool,
    sql`SELECT carrier_id AS "carrierId" FROM message_state WHERE id = ${id}::uuid`,
  );
  return row?.carrierId ?? null;
}

/** Stores a receipt of our only connection in the receipt inbox, as the carrier's session would. */
async function late(carrierId: string, state: ReceiptState): Promise<void> {
  const [connection] = await many<{ id: number }>(program.pool, sql`SELECT id FROM connection`);
  const receipts = [{ ...receipt(carrierId), state }];
  await insertReceiptBatches(program.pool, [{ connectionId: connection?.id ?? 0, receipts }]);
}

describe('a carrier that stays silent', () => {
  test('a message with a validity period ends EXPIRED by our own timer, and a real DELIVERED replaces that once', async () => {
    const client = await payer();
    const body = { destination: '+393331239907', sender: 'ACME', body: 'Hello', validityPeriod: 1 };
    const id = (await client.sendAsMessageServer(body)).messageId ?? '';
    await until(
      'the submit',
      async () => (await client.status(id)).deliveryStatus === 'ACCEPTED' && takenBy('+393331239907'),
    );
    const carrierId = await until('its state', async () => (await carrierIdOf(id)) ?? false);
    await exec(program.pool, sql`UPDATE message_deadline SET due_at = now() WHERE ${id}::uuid = ANY(ids)`);
    await client.untilStatus(id, 'EXPIRED');
    expect(await client.status(id)).toMatchObject({ errorCode: 'VALIDITY_ENDED' });
    await late(carrierId, 'DELIVERED');
    await client.untilStatus(id, 'DELIVERED');
    await late(carrierId, 'UNDELIVERABLE');
    await until(
      'the end of the inbox',
      async () => (await many(program.pool, sql`SELECT 1 FROM receipt_batch`)).length === 0,
    );
    expect(await client.status(id)).toMatchObject({ deliveryStatus: 'DELIVERED', errorCode: null });
  });
});

describe('a schedule that was missed by more than an hour', () => {
  async function missed(destination: string): Promise<{ client: Client; id: string; schedule: number }> {
    const client = await payer();
    const id = await schedule(client, destination);
    await exec(
      program.pool,
      sql`UPDATE dispatch_chunk SET available_at = now() - interval '61 minutes' WHERE ${id}::uuid = ANY(ids)`,
    );
    const { answer } = await runOperatorCommand(program, 'schedule', 'missed');
    const [row] = (answer as { data: { id: number; messages: number }[] }).data;
    expect(row?.messages).toBe(1);
    return { client, id, schedule: row?.id ?? 0 };
  }

  test('waits for a decision instead of being sent, and is sent when released', async () => {
    const { client, id, schedule: place } = await missed('+393331237010');
    expect(takenBy('+393331237010')).toBe(0);
    await runOperatorCommand(program, 'schedule', 'release', String(place));
    await client.untilStatus(id, 'DELIVERED');
    expect(takenBy('+393331237010')).toBe(1);
  });

  test('is never sent when cancelled, and is refunded', async () => {
    const { client, id, schedule: place } = await missed('+393331237011');
    expect((await runOperatorCommand(program, 'schedule', 'cancel', String(place))).answer).toEqual({
      messages: 1,
    });
    expect(await client.status(id)).toMatchObject({ deliveryStatus: 'DELETED' });
    expect(await creditOf(client)).toMatchObject({ availableCredit: 1, frozenCredit: 0 });
    expect((await runOperatorCommand(program, 'schedule', 'missed')).answer).toMatchObject({ data: [] });
    expect(takenBy('+393331237011')).toBe(0);
  });
});

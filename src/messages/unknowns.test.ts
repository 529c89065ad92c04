import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, listUnknownIds, newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { type Costs, createCostList, insertCosts } from '../routing/costs.ts';
import { deleteUnknowns, insertUnknowns } from './end.ts';
import { insertMessages } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { processReceipts, retryUnmatched } from './receipts.ts';
import { settleOutcomes } from './settle.ts';
import * as db from './unknown-outcomes.ts';
import { settleUnknown, type Verdict } from './unknown-outcomes.ts';

const { pool } = testDatabase();

beforeAll(async () => {
  await exec(pool, sql`INSERT INTO account (name) VALUES ('Acme')`);
  await exec(pool, sql`INSERT INTO connection (name, kind, settings, secret) VALUES ('main', 'smpp', '{}', '')`);
});
beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE message, message_state, message_event, unknown_outcome, nameless_submit, dispatch_chunk, receipt_batch,
        receipt_unmatched`,
  ),
);

const NUMBER = '351912345678';

/** A message that was written to connection 1 and never got a response. */
async function inDoubt(more: Parameters<typeof newMessage>[0] = {}, costs?: Costs): Promise<string> {
  const message = newMessage(more);
  await insertMessages(pool, [message]);
  const outcome = { kind: 'unknown', text: 'no response', carrierIds: [] } as const;
  await transaction(pool, (tx) => settleOutcomes(tx, [resultOf(message.id, outcome)], costs !== undefined, costs));
  return message.id;
}
const margin = () =>
  one<{ messages: number; units: number; uncosted: number; cost: number }>(
    pool,
    sql`SELECT sum(messages)::int AS messages, sum(units)::int AS units, sum(uncosted)::int AS uncosted,
               sum(cost_micros)::int AS cost FROM margin_day`,
  );
const statusOf = async (id: string): Promise<number | undefined> => (await statesOf(pool, [id])).get(id)?.status;

async function receive(carrierId: string, more: { destination: string; sender: string }): Promise<void> {
  await insertReceiptBatches(pool, [
    { connectionId: 1, receipts: [{ ...receipt(carrierId), state: 'DELIVERED', ...more }] },
  ]);
  const now = (): Date => new Date();
  await processReceipts(pool, now);
  // Messages on their way when it arrived must be recorded first: it is judged at the next try.
  await exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = now()`);
  await retryUnmatched(pool, now);
}

test('unknown outcomes are listed once, counted by connection, and removed only for their own account', async () => {
  const [first, second] = [await inDoubt(), await inDoubt({ destination: '+351912345679' })];
  await insertUnknowns(pool, [{ accountId: 1, messageId: first, connectionId: 1, reason: 'again' }]);
  expect(await db.countUnknowns(pool)).toEqual([{ connectionId: 1, count: 2 }]);
  expect(await deleteUnknowns(pool, [{ accountId: 2, messageId: first }])).toBe(0);
  expect(await deleteUnknowns(pool, [{ accountId: 1, messageId: first }])).toBe(1);
  expect(await listUnknownIds(pool)).toEqual(new Set([second]));
  const listed = await db.listUnknowns(pool, { accountId: null, connectionId: null, limit: 10 });
  expect(listed).toMatchObject([{ messageId: second, reason: 'no response' }]);
});

describe('a late receipt with an unknown id', () => {
  test('settles the only unknown outcome that it fits', async () => {
    const id = await inDoubt();
    await receive('7001', { destination: NUMBER, sender: 'ACME' });
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
    expect(await listUnknownIds(pool)).toEqual(new Set());
  });

  test('settles neither of two that it fits', async () => {
    const ids = [await inDoubt(), await inDoubt()];
    await receive('7002', { destination: NUMBER, sender: 'ACME' });
    for (const id of ids) expect(await statusOf(id)).toBe(STATUS.UNKNOWN);
    expect(await listUnknownIds(pool)).toEqual(new Set(ids));
    expect(await many(pool, sql`SELECT reason FROM receipt_unmatched`)).toHaveLength(1);
  });

  test('settles nothing when the number or the sender differs', async () => {
    const id = await inDoubt();
    await receive('7003', { destination: '351912345679', sender: 'ACME' });
    await receive('7004', { destination: NUMBER, sender: 'OTHER' });
    expect(await statusOf(id)).toBe(STATUS.UNKNOWN);
  });
});

describe('a person', () => {
  test('who says that a message was not sent takes back its cost, and the next attempt costs once', async () => {
    await insertCosts(pool, { costs: [{ connectionId: 1, prefix: '351', network: null, unitMicros: 20 }] });
    const costs = createCostList(pool);
    await costs.reload();
    const id = await inDoubt({ parts: 2 }, costs);
    expect(await margin()).toEqual({ messages: 1, units: 2, uncosted: 0, cost: 40 });
    await settleUnknown(pool, { messageId: id, as: 'not-sent', by: 'Ada' }, new Date());
    expect(await margin()).toEqual({ messages: 0, units: 0, uncosted: 0, cost: 0 });
    await exec(pool, sql`DELETE FROM connection_cost`);
  });

  const settle = (messageId: string, as: Verdict) => settleUnknown(pool, { messageId, as, by: 'op' }, new Date());

  test.each([
    ['delivered', STATUS.DELIVERED],
    ['undeliverable', STATUS.UNDELIVERABLE],
    ['rejected', STATUS.REJECTED],
    ['expired', STATUS.EXPIRED],
  ] as const)('settles one as %s, and it leaves the list', async (verdict, status) => {
    const id = await inDoubt();
    await settle(id, verdict);
    expect(await statusOf(id)).toBe(status);
    expect(await listUnknownIds(pool)).toEqual(new Set());
    await expect(settle(id, verdict)).rejects.toMatchObject({ code: 'not_found' });
    expect(
      await many(pool, sql`SELECT action, username, detail FROM audit_entry WHERE subject = ${`message:${id}`}`),
    ).toEqual([{ action: 'message.settle', username: 'op', detail: { as: verdict } }]);
  });

  test('decides that it was not sent: it waits in the queue again, with one attempt counted', async () => {
    const id = await inDoubt();
    await settle(id, 'not-sent');
    expect(await listChunks(pool)).toMatchObject([{ connectionId: 1, ids: [id] }]);
    expect(await statusOf(id)).toBe(STATUS.ACCEPTED);
  });

  test('cannot settle what is not on the list', async () => {
    await expect(settle(newId(), 'delivered')).rejects.toMatchObject({ code: 'not_found' });
    await expect(settle('nonsense', 'delivered')).rejects.toMatchObject({ code: 'not_found' });
  });
});

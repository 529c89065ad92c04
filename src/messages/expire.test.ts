import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { retry } from '../../test/support/carriers/scripted-carrier.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { listChunks, listUnknownIds, newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome } from '../channels/carrier.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { timeOfId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { createWaker } from '../dispatch/pump.ts';
import { claimChunks, insertChunks, updateIntents } from '../dispatch/store.ts';
import { freeze } from '../money/credit.ts';
import { createAccept } from './accept.ts';
import * as db from './expiry.ts';
import { deadlinesOf, expireDeadlines, expireDefaultValidity, expireQueued } from './expiry.ts';
import { GIVE_UP_AFTER_MS, loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';
import { EXPIRED_BY_US } from './store.ts';

const PRICE = 10;

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

let accountId: number;
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE message, message_state, message_event, message_deadline, dispatch_chunk, unknown_outcome, nameless_submit`,
  );
  accountId = await createAccountWithCredit(pool, 1000);
});

const ACCEPTED: Outcome = { kind: 'accepted', carrierIds: ['C1'] };
const UNKNOWN: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };
const now = (): Date => new Date();
const inMs = (ms: number) => (): Date => new Date(Date.now() + ms);

/** A message whose price is frozen, that waits at connection 1. */
async function queued(more: Partial<NewMessage> = {}): Promise<string> {
  const message = newMessage({ accountId, priceMicros: PRICE, ...more });
  await transaction(pool, async (tx) => {
    await insertMessages(tx, [message]);
    await insertChunks(tx, [
      { accountId, connectionId: 1, priority: 0, availableAt: message.scheduledAt, ids: [message.id] },
    ]);
    await freeze(tx, [{ accountId, micros: PRICE }], message.id);
  });
  return message.id;
}

/** The same, and the carrier has responded. */
async function submitted(outcome: Outcome, more: Partial<NewMessage> = {}): Promise<string> {
  const id = await queued(more);
  const [chunk] = await claimChunks(pool, { connectionId: 1, owner: 1, messages: 1, belowPriority: 9 });
  const job = chunk && (await loadJobs(pool, [chunk]))[0]?.[0];
  await exec(pool, sql`DELETE FROM dispatch_chunk`);
  await transaction(pool, (tx) => settleOutcomes(tx, [resultOf(id, outcome, { accountId, job: job ?? null })], false));
  return id;
}

const due = (...ids: string[]) => db.insertDeadlines(pool, [{ accountId, dueAt: new Date(Date.now() - 1), ids }]);
const stateOf = async (id: string) => (await statesOf(pool, [id])).get(id);
const EXPIRED = { status: STATUS.EXPIRED, errorCode: EXPIRED_BY_US };
const returned = { available: 1000, frozen: 0, earned: 0 };

describe('deadlines', () => {
  test('follow from the validity or the schedule, and messages of the default validity have none', () => {
    const at = new Date('2027-01-31T08:00:00.300Z');
    const [plain, valid, scheduled, both] = [
      newMessage(),
      newMessage({ validUntil: at }),
      newMessage({ scheduledAt: at }),
      newMessage({ validUntil: at, scheduledAt: new Date('2027-01-30T08:00:00Z') }),
    ] as const;
    const simulated = newMessage({ validUntil: at, simulation: true });
    expect(deadlinesOf([plain, valid, scheduled, both, simulated])).toEqual([
      { accountId: 1, dueAt: new Date('2027-01-31T08:01:01Z'), ids: [valid.id, both.id] },
      { accountId: 1, dueAt: new Date('2027-02-03T08:00:01Z'), ids: [scheduled.id] },
    ]);
  });

  test('are shared by up to a thousand messages of one request', () => {
    const many2 = Array.from({ length: 2500 }, () => newMessage({ scheduledAt: new Date('2027-01-31T08:00:00Z') }));
    expect(deadlinesOf(many2).map(({ ids }) => ids.length)).toEqual([1000, 1000, 500]);
  });

  test('are committed with the messages', async () => {
    const accept = createAccept({ pool, tables: freeOver(() => [1]), waker: createWaker(pool), recentMessages: null });
    const validUntil = new Date(Date.now() + HOUR_MS);
    await accept.many(actor(accountId), [draft({ validUntil }), draft(), draft({ validUntil })]);
    expect(await db.findNextDeadlineMs(pool)).toBeGreaterThan(HOUR_MS);
    const row = await one<{ count: number }>(pool, sql`SELECT cardinality(ids) AS count FROM message_deadline`);
    expect(row.count).toBe(2);
    expect(await expireDeadlines(pool, now)).toBe(0);
  });

  test.each([
    ['the carrier took and said no more of', ACCEPTED],
    ['the carrier never responded to', UNKNOWN],
  ])('end as EXPIRED what %s; it costs nothing', async (_, outcome) => {
    const id = await submitted(outcome, { refundUndelivered: true });
    await due(id);
    expect(await expireDeadlines(pool, now)).toBe(1);
    expect(await stateOf(id)).toMatchObject(EXPIRED);
    expect(await readBooks(pool, accountId)).toMatchObject(returned);
    expect(await listUnknownIds(pool)).toEqual(new Set());
    expect(await db.findNextDeadlineMs(pool)).toBeNull();
  });

  test('a long text of which one part was reported delivered ends as DELIVERED, unless a part is in doubt', async () => {
    const long = { ...ACCEPTED, carrierIds: ['P1', 'P2', 'P3'] };
    const part = { status: STATUS.DELIVERED };
    const ids = [await submitted(long, { parts: 3 }), await submitted(long, { parts: 3 })];
    const doubtful = await submitted({ ...UNKNOWN, carrierIds: ['P1', 'P2'] }, { parts: 3 });
    for (const messageId of [ids[0] ?? '', doubtful]) {
      const matched = { accountId, messageId, part: 2, connectionId: 1, receipt: receipt('P2'), receivedAt: now() };
      await transaction(pool, (tx) => receiveReceipts(tx, [matched]));
    }
    await due(...ids, doubtful);
    await expireDeadlines(pool, now);
    expect(await stateOf(ids[0] ?? '')).toMatchObject({ ...part, errorCode: null, errorText: null });
    expect([await stateOf(ids[1] ?? ''), await stateOf(doubtful)]).toMatchObject([EXPIRED, EXPIRED]);
  });

  test('a price that was earned when the carrier accepted the message stays earned', async () => {
    const id = await submitted(ACCEPTED);
    await due(id);
    await expireDeadlines(pool, now);
    expect(await stateOf(id)).toMatchObject(EXPIRED);
    expect(await readBooks(pool, accountId)).toMatchObject({ available: 990, earned: 10 });
  });

  test('a waiting message is withdrawn from the queue, before its first attempt and before a later one', async () => {
    const [first, second] = [await submitted(retry(60_000)), await queued()];
    await insertChunks(pool, [{ accountId, connectionId: 1, priority: 0, availableAt: null, ids: [first] }]);
    await due(first, second);
    await expireDeadlines(pool, now);
    expect([await stateOf(first), await stateOf(second)]).toMatchObject([EXPIRED, EXPIRED]);
    expect(await listChunks(pool)).toEqual([]);
    expect(await readBooks(pool, accountId)).toMatchObject(returned);
  });

  test('a message that is being submitted is postponed until its response is recorded', async () => {
    const id = await queued();
    const [chunk] = await claimChunks(pool, { connectionId: 1, owner: 7, messages: 1, belowPriority: 9 });
    await updateIntents(pool, { owner: 7, intents: new Map([[chunk?.id ?? 0, 1]]) });
    await due(id);
    await expireDeadlines(pool, now);
    expect(await stateOf(id)).toBeUndefined();
    expect(await db.findNextDeadlineMs(pool)).toBeGreaterThan(MINUTE_MS / 2);
    await transaction(pool, (tx) => settleOutcomes(tx, [resultOf(id, ACCEPTED, { accountId })], false));
    await exec(pool, sql`UPDATE message_deadline SET due_at = now()`);
    await expireDeadlines(pool, now);
    expect(await stateOf(id)).toMatchObject(EXPIRED);
  });

  test('a final state stays, and a message without a receipt stays with the carrier', async () => {
    const [ended, silent] = [await submitted(ACCEPTED), await submitted(ACCEPTED, { wantReceipt: false })];
    const received = { accountId, messageId: ended, part: null, connectionId: 1, receivedAt: now() };
    await transaction(pool, (tx) => receiveReceipts(tx, [{ ...received, receipt: receipt('C1') }]));
    await due(ended, silent);
    await expireDeadlines(pool, now);
    expect(await stateOf(ended)).toMatchObject({ status: STATUS.DELIVERED });
    expect(await stateOf(silent)).toMatchObject({ status: STATUS.ACCEPTED });
  });

  test('a price that only a receipt could return is earned at once where no receipt was asked for', async () => {
    await submitted(ACCEPTED, { wantReceipt: false, refundUndelivered: true });
    expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: 10 });
  });

  test('two workers at the same time end each message once', async () => {
    const ids = [await submitted(UNKNOWN), await submitted(UNKNOWN), await submitted(UNKNOWN)];
    for (const id of ids) await due(id);
    await Promise.all([expireDeadlines(pool, now), expireDeadlines(pool, now), expireDeadlines(pool, now)]);
    expect((await statesOf(pool, ids)).values().every((state) => state.status === STATUS.EXPIRED)).toBe(true);
    expect(await readBooks(pool, accountId)).toMatchObject(returned);
  });
});

describe('the default validity', () => {
  const from = async (id: string): Promise<void> => {
    await exec(pool, sql`UPDATE expiry_progress SET done_to = ${new Date(timeOfId(id).getTime() - 1000)}`);
  };
  const later = inMs(GIVE_UP_AFTER_MS + MINUTE_MS);
  const expireAll = async (at: () => Date): Promise<number> => {
    for (;;) {
      const waitMs = await expireDefaultValidity(pool, at);
      if (waitMs > 0) return waitMs;
    }
  };

  test('ends after 48 hours and a day for the receipt, not before', async () => {
    const id = await submitted(UNKNOWN);
    await from(id);
    await expireAll(inMs(GIVE_UP_AFTER_MS - MINUTE_MS));
    expect(await stateOf(id)).toMatchObject({ status: STATUS.UNKNOWN });
    expect(await expireAll(later)).toBeLessThanOrEqual(10_000);
    expect(await stateOf(id)).toMatchObject(EXPIRED);
    expect(await readBooks(pool, accountId)).toMatchObject(returned);
  });

  test('leaves messages with a validity or a schedule to their deadlines', async () => {
    const valid = await submitted(ACCEPTED, { validUntil: new Date(Date.now() + 96 * HOUR_MS) });
    const scheduled = await submitted(ACCEPTED);
    await exec(pool, sql`UPDATE message SET scheduled_at = now() + interval '30 days' WHERE id = ${scheduled}`);
    await from(valid);
    await expireAll(later);
    expect([await stateOf(valid), await stateOf(scheduled)]).toMatchObject([{ status: 1 }, { status: 1 }]);
  });

  test('is checked up to an instant that one worker advances, and that never goes back', async () => {
    const mark = new Date('2026-01-01T00:00:00Z');
    await exec(pool, sql`UPDATE expiry_progress SET done_to = ${mark}`);
    await db.updateExpiryProgress(pool, { from: new Date(mark.getTime() - 1), to: new Date(0) });
    expect(await db.findExpiryProgress(pool)).toEqual(mark);
  });

  test('ends messages that have waited all the time for a connection that is away', async () => {
    const [old, young] = [await queued(), await queued()];
    const scheduled = await queued({ scheduledAt: new Date(Date.now() + HOUR_MS) });
    await exec(pool, sql`UPDATE dispatch_chunk SET available_at = now() - interval '3 days' WHERE ids[1] = ${old}`);
    expect(await expireQueued(pool, now)).toBe(0);
    expect(await expireQueued(pool, later)).toBe(1);
    expect(await expireQueued(pool, later)).toBe(0);
    expect(await stateOf(old)).toMatchObject(EXPIRED);
    expect(
      (await many<{ id: string }>(pool, sql`SELECT ids[1] AS id FROM dispatch_chunk ORDER BY 1`)).map((r) => r.id),
    ).toEqual([young, scheduled]);
  });
});

import { afterAll, beforeEach, expect, test } from 'vitest';
import { accepted, createScriptedCarrier, retry } from '../../test/support/carriers/scripted-carrier.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, listUnknownIds, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { rescueChunks } from '../dispatch/commit.ts';
import { claimChunks, updateIntents } from '../dispatch/store.ts';
import { cancelMessage } from './cancellation.ts';
import { settleOutcomes } from './settle.ts';

const PRICE = 10;

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

let accountId: number;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message, message_state, message_event, dispatch_chunk, unknown_outcome`);
  accountId = await createAccountWithCredit(pool, 10_000);
});

/** Messages that wait, each at 10 micro-units that are frozen. */
const queue = (count: number, size = 1000): Promise<string[]> =>
  queueMessages(pool, { accountId, count, size, priceMicros: PRICE });

const cancel = (id: string, of = accountId): Promise<boolean> =>
  cancelMessage(pool, actor(of), { id, now: new Date() });
const statusOf = async (id = ''): Promise<number | undefined> => (await statesOf(pool, [id])).get(id)?.status;
const queueEmpty = (): Promise<boolean> =>
  until('the queue is empty', async () => (await listChunks(pool)).length === 0);

test('a waiting message ends DELETED once, its credit returns, and its history says who cancelled it', async () => {
  const [id = '', other = ''] = await queue(2);
  expect(await cancel(id)).toBe(true);
  expect(await cancel(id)).toBe(false);
  expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: STATUS.DELETED, errorCode: 'CANCELLED' });
  expect(await readBooks(pool, accountId)).toMatchObject({ available: 9990, frozen: 10, earned: 0 });
  expect(await many(pool, sql`SELECT kind, text FROM message_event WHERE message_id = ${id}`)).toEqual([
    { kind: 'cancelled', text: 'the client' },
  ]);
  const audit = await many(
    pool,
    sql`SELECT action, key_id AS "keyId" FROM audit_entry WHERE subject = ${`message:${id}`}`,
  );
  expect(audit).toEqual([{ action: 'message.cancel', keyId: 1 }]);
  const carrier = createScriptedCarrier();
  pumpOn(pool, carrier);
  await queueEmpty();
  expect(carrier.submitted).toEqual([other]);
});

test('a chunk whose messages are all cancelled is deleted', async () => {
  const ids = await queue(3);
  for (const id of ids) expect(await cancel(id)).toBe(true);
  expect(await listChunks(pool)).toEqual([]);
});

test('another account cannot cancel', async () => {
  const [id = ''] = await queue(1);
  expect(await cancel(id, await createAccountWithCredit(pool, 0))).toBe(false);
  expect(await cancel(newId())).toBe(false);
  expect(await statusOf(id)).toBeUndefined();
});

test('a worker that has a message in memory does not submit it once it is cancelled', async () => {
  const ids = await queue(30);
  const answers: (() => void)[] = [];
  const carrier = createScriptedCarrier({
    window: 9,
    script: ({ messageId }) => new Promise((resolve) => answers.push(() => resolve(accepted(messageId)))),
  });
  pumpOn(pool, carrier);
  await until('a window is under way', () => answers.length === 9);
  const underWay = ids.slice(0, 9);
  const waiting = ids.slice(9);
  expect(await cancel(underWay[0] ?? '')).toBe(false);
  for (const id of [waiting[3] ?? '', waiting.at(-1) ?? '']) expect(await cancel(id)).toBe(true);
  const sent = ids.filter((id) => id !== waiting[3] && id !== waiting.at(-1));
  await until('all others are sent', () => {
    answers.shift()?.();
    return carrier.submitted.length === sent.length;
  });
  for (const answer of answers) answer();
  await queueEmpty();
  expect(carrier.submitted).toEqual(sent);
  expect(await readBooks(pool, accountId)).toMatchObject({ available: 10_000 - 280, frozen: 0, earned: 280 });
});

test('a message that waits for another attempt is cancelled as well, and its credit returns', async () => {
  const [id = ''] = await queue(1);
  const carrier = createScriptedCarrier({ script: () => retry(60_000) });
  pumpOn(pool, carrier);
  await until('the first attempt is recorded', async () => (await statusOf(id)) === STATUS.ACCEPTED);
  expect(await cancel(id)).toBe(true);
  expect(await statusOf(id)).toBe(STATUS.DELETED);
  expect(await readBooks(pool, accountId)).toMatchObject({ available: 10_000, frozen: 0 });
});

test('each message is either cancelled or sent while a worker sends as fast as it can', async () => {
  const ids = await queue(600, 100);
  const carrier = createScriptedCarrier({ window: 5 });
  pumpOn(pool, carrier);
  const cancelled = new Set<string>();
  const tries = ids.filter((_, i) => i % 3 !== 0).toReversed();
  const canceller = async (): Promise<void> => {
    for (let id = tries.pop(); id !== undefined; id = tries.pop()) if (await cancel(id)) cancelled.add(id);
  };
  await Promise.all([canceller(), canceller(), canceller()]);
  await queueEmpty();
  const sent = new Set(carrier.submitted);
  expect(sent.size).toBe(carrier.submitted.length);
  expect(ids.filter((id) => sent.has(id) === cancelled.has(id))).toEqual([]);
  expect(cancelled.size).toBeGreaterThan(0);
  const states = await statesOf(pool, ids);
  expect(ids.filter((id) => (states.get(id)?.status === STATUS.DELETED) !== cancelled.has(id))).toEqual([]);
  expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: PRICE * sent.size });
});

test('a cancelled message stays cancelled when the worker that had claimed it dies', async () => {
  const ids = await queue(4);
  const [chunk] = await claimChunks(pool, { connectionId: 1, owner: 4711, messages: 4, belowPriority: 9 });
  expect(await cancel(ids[1] ?? '')).toBe(true);
  expect(await cancel(ids[3] ?? '')).toBe(true);
  await updateIntents(pool, { owner: 4711, intents: new Map([[chunk?.id ?? 0, 2]]) });
  await rescueChunks(pool, settleOutcomes);
  expect(await listUnknownIds(pool)).toEqual(new Set([ids[0]]));
  const carrier = createScriptedCarrier();
  pumpOn(pool, carrier);
  await queueEmpty();
  expect(carrier.submitted).toEqual([ids[2]]);
  expect([await statusOf(ids[1]), await statusOf(ids[3])]).toEqual([STATUS.DELETED, STATUS.DELETED]);
});

import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, testDatabase } from '../../test/support/database.ts';
import { listChunks, listUnknownIds, queueMessages, resultOf, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { openWorkerSession, type WorkerSession } from '../core/db/worker-session.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { rescueChunks } from './commit.ts';
import { claimChunks, updateIntents } from './store.ts';

/** No session ever holds this key. */
const DEAD = 4711;
const NOTHING = { chunks: 0, unknown: 0, connectionIds: [] };

const database = testDatabase();
beforeEach(() => reset(database.pool, sql`TRUNCATE message, message_state, dispatch_chunk, unknown_outcome`));

const rescue = () => rescueChunks(database.pool, settleOutcomes);

async function livingWorker(): Promise<WorkerSession> {
  const session = await openWorkerSession({
    connectionString: database.connectionString,
    log: silentLog,
  });
  onTestFinished(() => session.close());
  return session;
}

/** Queues and claims messages, and commits the intent to write the first of them. */
async function begun(owner: number, count: number, intent: number, connectionId = 1): Promise<string[]> {
  const ids = await queueMessages(database.pool, { count, connectionId });
  const claimed = await claimChunks(database.pool, { connectionId, owner, messages: count, belowPriority: 9 });
  await updateIntents(database.pool, { owner, intents: new Map(claimed.map((chunk) => [chunk.id, intent])) });
  return ids;
}

const settle = (ids: readonly string[]): Promise<unknown> =>
  settleOutcomes(
    database.pool,
    ids.map((id) => resultOf(id, { kind: 'accepted', carrierIds: [`c-${id}`] })),
    false,
  );

test('messages of a dead worker that may have been written become unknown and are listed, and the rest is queued again', async () => {
  const ids = await begun(DEAD, 10, 6);
  await settle(ids.slice(0, 4));
  expect(await rescue()).toEqual({ chunks: 1, unknown: 2, connectionIds: [1] });
  const states = await statesOf(database.pool, ids);
  expect(ids.map((id) => states.get(id)?.status)).toEqual([
    ...Array(4).fill(STATUS.ACCEPTED),
    ...Array(2).fill(STATUS.UNKNOWN),
    ...Array(4).fill(undefined),
  ]);
  expect(await listUnknownIds(database.pool)).toEqual(new Set(ids.slice(4, 6)));
  expect(await listChunks(database.pool)).toMatchObject([
    { owner: null, intent: 0, size: 4, attempt: 0, ids: ids.slice(6) },
  ]);
});

test('a chunk that was written completely leaves the queue', async () => {
  const ids = await begun(DEAD, 5, 5);
  await rescue();
  expect(await listChunks(database.pool)).toEqual([]);
  expect(await listUnknownIds(database.pool)).toEqual(new Set(ids));
});

test('a chunk of which nothing was written is queued again as it was, and nothing is unknown', async () => {
  const ids = await begun(DEAD, 5, 0);
  expect(await rescue()).toEqual({ chunks: 1, unknown: 0, connectionIds: [1] });
  expect(await listChunks(database.pool)).toMatchObject([{ owner: null, size: 5, ids }]);
  expect(await statesOf(database.pool, ids)).toEqual(new Map());
});

test('chunks that wait and chunks of a living worker are left alone until it dies', async () => {
  const worker = await livingWorker();
  const ids = await begun(worker.owner, 5, 3);
  await queueMessages(database.pool, { count: 2 });
  const before = await listChunks(database.pool);
  expect(await rescue()).toEqual(NOTHING);
  expect(await listChunks(database.pool)).toEqual(before);
  await worker.close();
  await expect.poll(rescue).toMatchObject({ chunks: 1, unknown: 3 });
  expect(await listUnknownIds(database.pool)).toEqual(new Set(ids.slice(0, 3)));
});

test('a lock with the same number in another database keeps no worker alive here', async () => {
  await begun(DEAD, 1, 1);
  await using other = await createTestDatabase({ empty: true });
  await other.pool.query('SELECT pg_advisory_lock($1)', [DEAD]);
  expect(await rescue()).toMatchObject({ chunks: 1 });
});

test('two concurrent rescues take each chunk once', async () => {
  const ids = (await Promise.all(Array.from({ length: 20 }, (_, n) => begun(DEAD, 10, 4, n + 1)))).flat();
  const results = await Promise.all([rescue(), rescue(), rescue()]);
  expect(results.reduce((sum, result) => sum + result.chunks, 0)).toBe(20);
  expect(results.reduce((sum, result) => sum + result.unknown, 0)).toBe(80);
  const queued = (await listChunks(database.pool)).flatMap((chunk) => chunk.ids);
  expect([...queued, ...(await listUnknownIds(database.pool))].sort()).toEqual([...ids].sort());
});

test('a rescue that fails takes over nothing', async () => {
  await begun(DEAD, 5, 3);
  const before = await listChunks(database.pool);
  const failing = rescueChunks(database.pool, async (tx, results, again) => {
    await settleOutcomes(tx, results, again);
    throw new Error('no disk');
  });
  await expect(failing).rejects.toThrow('no disk');
  expect(await listChunks(database.pool)).toEqual(before);
  expect(await listUnknownIds(database.pool)).toEqual(new Set());
});

test('a worker that lives on without its session settles after the rescue: what it knows replaces the unknown', async () => {
  const ids = await begun(DEAD, 3, 3);
  await rescue();
  await settleOutcomes(database.pool, [resultOf(ids[0] ?? '', { kind: 'accepted', carrierIds: ['x'] })], true);
  expect((await statesOf(database.pool, ids)).get(ids[0] ?? '')).toMatchObject({
    status: STATUS.ACCEPTED,
    carrierId: 'x',
  });
  expect(await listUnknownIds(database.pool)).toEqual(new Set(ids.slice(1)));
});

test('the outcome of an earlier attempt does not settle the attempt in doubt', async () => {
  const [id = ''] = await begun(DEAD, 1, 1);
  const retry = { kind: 'retry', afterMs: 0, counts: false, code: 'ESME_RTHROTTLED', text: 'later' } as const;
  await settleOutcomes(database.pool, [resultOf(id, retry)], false);
  await exec(database.pool, sql`UPDATE dispatch_chunk SET attempt = 1`);
  await rescue();
  expect((await statesOf(database.pool, [id])).get(id)).toMatchObject({ status: STATUS.UNKNOWN, attempts: 2 });
  const row = await one<{ reason: string }>(database.pool, sql`SELECT reason FROM unknown_outcome`);
  expect(row.reason).toBe('the worker stopped before the response was recorded');
});

test('a message that a route sends once more after a crash stays with its connection, which may have it already', async () => {
  const [first = '', second = ''] = await queueMessages(database.pool, { count: 2, alternates: [2] });
  await exec(database.pool, sql`UPDATE dispatch_chunk SET on_unknown = 'resubmit'`);
  const [chunk] = await claimChunks(database.pool, { connectionId: 1, owner: DEAD, messages: 2, belowPriority: 9 });
  await updateIntents(database.pool, { owner: DEAD, intents: new Map([[chunk?.id ?? 0, 1]]) });
  await rescue();
  const chunks = await listChunks(database.pool);
  expect(new Map(chunks.map(({ ids, alternates }) => [ids[0], alternates]))).toEqual(
    new Map([
      [first, []],
      [second, [2]],
    ]),
  );
});

import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import * as db from './store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE dispatch_chunk`));

const ids = (count: number): string[] => Array.from({ length: count }, newId);
const chunk = (more: Partial<db.NewChunk> = {}): db.NewChunk => ({
  accountId: 1,
  connectionId: 1,
  priority: 1,
  availableAt: null,
  ids: ids(1),
  ...more,
});
const CLAIM: db.Claim = { connectionId: 1, owner: 7, messages: 1, belowPriority: 99 };
const claim = (more: Partial<db.Claim> = {}): Promise<db.Chunk[]> => db.claimChunks(pool, { ...CLAIM, ...more });
const claimUpTo = (maxMessages: number): Promise<db.Chunk[]> =>
  db.claimMessages(pool, { ...CLAIM, messages: maxMessages, maxMessages });
const all = { messages: 1_000_000 };

describe('insertChunks', () => {
  test('keeps the ids of each chunk in order and knows how many they are', async () => {
    const lists = [ids(1000), ids(1), ids(3)];
    await db.insertChunks(
      pool,
      lists.map((list) => chunk({ ids: list })),
    );
    const same = { owner: null, intent: 0, attempt: 0 };
    expect(await listChunks(pool)).toMatchObject(lists.map((list) => ({ ...same, size: list.length, ids: list })));
  });

  test('gives an account rounds that grow by its messages, in one call and over several', async () => {
    await db.insertChunks(pool, [chunk({ ids: ids(5) }), chunk({ ids: ids(2) }), chunk()]);
    await db.insertChunks(pool, [chunk()]);
    expect((await listChunks(pool)).map((c) => c.round)).toEqual([0, 5, 7, 8]);
  });

  test('shares between accounts by messages: many small chunks do not wait for a large one each', async () => {
    const large = [1, 2].map(() => chunk({ ids: ids(100) }));
    const small = Array.from({ length: 12 }, () => chunk({ accountId: 2, ids: ids(10) }));
    await db.insertChunks(pool, large);
    await db.insertChunks(pool, small);
    const order = (await claim(all)).map((c) => c.accountId);
    expect(order).toEqual([1, ...Array(10).fill(2), 1, 2, 2]);
  });

  test('does not let a newcomer start where a chunk stands that waits for its time', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000);
    await db.insertChunks(pool, [chunk({ accountId: 3, availableAt: tomorrow })]);
    await db.insertChunks(pool, [chunk({ ids: ids(50) }), chunk({ ids: ids(50) })]);
    const [first] = await claim({ messages: 1 });
    await db.deleteChunks(pool, { owner: 7, ids: [first?.id ?? 0] });
    await db.insertChunks(pool, [chunk({ accountId: 2 })]);
    expect((await listChunks(pool)).find((c) => c.accountId === 2)?.round).toBe(50);
  });

  test('lets a newcomer start level with those who wait, neither before nor behind them', async () => {
    await db.insertChunks(
      pool,
      Array.from({ length: 5 }, () => chunk({ accountId: 1 })),
    );
    await claim({ messages: 3 });
    await db.insertChunks(pool, [chunk({ accountId: 2 }), chunk({ accountId: 2 })]);
    const rounds = (await listChunks(pool)).filter((c) => c.accountId === 2).map((c) => c.round);
    expect(rounds).toEqual([3, 4]);
  });

  test('counts rounds apart for each connection and priority', async () => {
    await db.insertChunks(pool, [chunk(), chunk({ priority: 0 }), chunk({ connectionId: 2 })]);
    expect((await listChunks(pool)).map((c) => c.round)).toEqual([0, 0, 0]);
  });
});

describe('claimChunks', () => {
  test('takes the best first: priority, round, age', async () => {
    const urgent = chunk({ priority: 0 });
    const [first, second, other] = [chunk(), chunk(), chunk({ accountId: 2 })];
    await db.insertChunks(pool, [first, second]);
    await db.insertChunks(pool, [other]);
    await db.insertChunks(pool, [urgent]);
    expect((await claim(all)).map((c) => c.ids)).toEqual([urgent, first, other, second].map((c) => c.ids));
  });

  test('finds the best behind any number of others', async () => {
    await db.insertChunks(
      pool,
      Array.from({ length: 300 }, () => chunk({ accountId: 1 })),
    );
    await db.insertChunks(pool, [chunk({ accountId: 2 }), chunk({ priority: 0 })]);
    expect((await claim({ messages: 3 })).map((c) => [c.priority, c.accountId])).toEqual([
      [0, 1],
      [1, 1],
      [1, 2],
    ]);
  });

  test('takes whole chunks until they hold what was asked for', async () => {
    await db.insertChunks(
      pool,
      [10, 10, 10].map((count) => chunk({ ids: ids(count) })),
    );
    expect(await claim({ messages: 11 })).toHaveLength(2);
    expect(await claim({ messages: 1 })).toHaveLength(1);
    expect(await claim()).toEqual([]);
  });

  test('leaves what is not due, what is less urgent than asked, and what belongs to another connection', async () => {
    await db.insertChunks(pool, [
      chunk({ availableAt: new Date(Date.now() + 60_000) }),
      chunk({ priority: 2 }),
      chunk({ connectionId: 2 }),
    ]);
    expect(await claim({ belowPriority: 2, ...all })).toEqual([]);
    expect(await claim({ belowPriority: 3, ...all })).toHaveLength(1);
  });

  test('gives each chunk to one claimer, however many come at once', async () => {
    await db.insertChunks(
      pool,
      Array.from({ length: 40 }, () => chunk()),
    );
    const claims = await Promise.all(Array.from({ length: 8 }, (_, n) => claim({ owner: n + 1, messages: 5 })));
    const taken = claims.flat().map((c) => c.id);
    expect(new Set(taken).size).toBe(taken.length);
    const left = await claim(all);
    expect(taken.length + left.length).toBe(40);
  });

  test('does not wait: rows locked by another transaction are skipped', async () => {
    await db.insertChunks(pool, [chunk(), chunk()]);
    await transaction(pool, async (tx) => {
      await exec(tx, sql`SELECT FROM dispatch_chunk ORDER BY id LIMIT 1 FOR UPDATE`);
      expect(await claim(all)).toHaveLength(1);
    });
  });
});

describe('the fence', () => {
  test('moves intents of chunks that are still the worker’s own, and names those', async () => {
    await db.insertChunks(pool, [chunk({ ids: ids(5) }), chunk({ ids: ids(5) })]);
    const [mine, lost] = (await claim(all)).map((c) => c.id) as [number, number];
    await exec(pool, sql`UPDATE dispatch_chunk SET owner = 8 WHERE id = ${lost}`);
    const intents = new Map([
      [mine, 3],
      [lost, 4],
    ]);
    expect(await db.updateIntents(pool, { owner: 7, intents })).toEqual(
      new Map([[mine, { withdrawn: [], parked: false }]]),
    );
    expect(new Map((await listChunks(pool)).map((c) => [c.id, c.intent]))).toEqual(
      new Map([
        [mine, 3],
        [lost, 0],
      ]),
    );
  });

  test('deletes and gives back the worker’s own chunks only', async () => {
    await db.insertChunks(pool, [chunk(), chunk({ ids: ids(3) })]);
    const [first, second] = await claim(all);
    await db.deleteChunks(pool, { owner: 8, ids: [first?.id ?? 0] });
    await db.moveChunkToQueue(pool, { owner: 8, id: second?.id ?? 0, ids: [] });
    expect(await listChunks(pool)).toMatchObject([{ owner: 7 }, { owner: 7, size: 3 }]);
    await db.deleteChunks(pool, { owner: 7, ids: [first?.id ?? 0] });
    const rest = second?.ids.slice(1) ?? [];
    await db.moveChunkToQueue(pool, { owner: 7, id: second?.id ?? 0, ids: rest });
    expect(await listChunks(pool)).toMatchObject([
      { owner: null, intent: 0, size: 2, ids: rest, round: (second?.round ?? 0) + 1 },
    ]);
  });

  test('gives back what the worker has claimed and neither begun nor holds', async () => {
    await db.insertChunks(
      pool,
      Array.from({ length: 4 }, () => chunk({ ids: ids(2) })),
    );
    const [held, begun, forgotten] = (await claim({ messages: 6 })).map((c) => c.id) as [number, number, number];
    await db.updateIntents(pool, { owner: 7, intents: new Map([[begun, 1]]) });
    expect(await db.moveUnheldToQueue(pool, { owner: 8, connectionId: 1, heldIds: [] })).toBe(0);
    expect(await db.moveUnheldToQueue(pool, { owner: 7, connectionId: 2, heldIds: [] })).toBe(0);
    expect(await db.moveUnheldToQueue(pool, { owner: 7, connectionId: 1, heldIds: [held] })).toBe(1);
    const owned = (await listChunks(pool)).filter((c) => c.owner === 7).map((c) => c.id);
    expect(owned).toEqual([held, begun]);
    expect((await claim({ messages: 1 })).map((c) => c.id)).toEqual([forgotten]);
  });
});

describe('a chunk that is cut', () => {
  const everything = (id: number) =>
    one<{ row: Record<string, unknown> }>(pool, sql`SELECT to_jsonb(c) AS row FROM dispatch_chunk c WHERE id = ${id}`);
  const moved = { id: 0, owner: 0, intent: 0, round: 0, size: 0, ids: [] };

  test('keeps its first messages, and the others stand as far behind as those are many', async () => {
    const list = ids(10);
    await db.insertChunks(pool, [chunk({ ids: list })]);
    await db.insertChunks(pool, [chunk({ accountId: 2 })]);
    expect((await claimUpTo(4)).map((c) => [c.accountId, c.ids])).toEqual([[1, list.slice(0, 4)]]);
    const chunks = await listChunks(pool);
    expect(chunks.map((c) => [c.accountId, c.owner, c.round, c.size])).toEqual([
      [1, 7, 0, 4],
      [2, null, 0, 1],
      [1, null, 4, 6],
    ]);
    expect([chunks[0]?.ids, chunks[2]?.ids]).toEqual([list.slice(0, 4), list.slice(4)]);
  });

  test('is the last of those that were claimed, and only if they are too many', async () => {
    await db.insertChunks(
      pool,
      [3, 3, 3].map((count) => chunk({ ids: ids(count) })),
    );
    expect((await claimUpTo(5)).map((c) => c.ids.length)).toEqual([3, 2]);
    expect((await claimUpTo(4)).map((c) => c.ids.length)).toEqual([1, 3]);
    expect(await listChunks(pool)).toHaveLength(4);
  });

  test('leaves its rest in the queue, and a newcomer starts level with that', async () => {
    await db.insertChunks(pool, [chunk({ ids: ids(1000) }), chunk({ ids: ids(1000) })]);
    await claimUpTo(100);
    await db.insertChunks(pool, [chunk({ accountId: 2, ids: ids(20) })]);
    const waiting = (await listChunks(pool)).filter((c) => c.owner === null);
    expect(waiting.map((c) => [c.accountId, c.round])).toEqual([
      [1, 100],
      [2, 100],
      [1, 1000],
    ]);
  });

  test('is like the other part in all that is not its place, and so is one that is given back', async () => {
    const availableAt = new Date(Date.now() - 60_000);
    await db.insertChunks(pool, [
      chunk({
        accountId: 3,
        alternates: [5, 6],
        priority: 2,
        availableAt,
        attempt: 4,
        onUnknown: 'resubmit',
        ids: ids(9),
      }),
    ]);
    await exec(pool, sql`UPDATE dispatch_chunk SET tries = 1, withdrawn = ids[8:8]`);
    await claimUpTo(3);
    const [kept, rest] = await listChunks(pool);
    await db.moveChunkToQueue(pool, { owner: 7, id: kept?.id ?? 0, ids: kept?.ids ?? [] });
    const given = (await listChunks(pool)).find((c) => c.size === 3);
    const before = await everything(rest?.id ?? 0);
    expect({ ...(await everything(given?.id ?? 0)).row, ...moved }).toEqual({ ...before.row, ...moved });
    expect(before.row).toMatchObject({
      tries: 1,
      attempt: 4,
      alternates: [5, 6],
      scheduled: true,
      on_unknown: 'resubmit',
    });
  });
});

describe('moveChunksElsewhere', () => {
  const moveFrom = (dead: number[], up: number[], limit = 100) =>
    db.moveChunksElsewhere(pool, { dead, up, limit }).then((moves) => moves.length);
  const places = async () => (await listChunks(pool)).map((c) => [c.connectionId, c.alternates]);

  test('takes the first alternate that is up, and what is dead becomes the last one', async () => {
    await db.insertChunks(pool, [chunk({ alternates: [2, 3, 4], ids: ids(7) })]);
    expect(await db.moveChunksElsewhere(pool, { dead: [1, 2], up: [3, 4], limit: 9 })).toEqual([
      { from: 1, to: 3, messages: 7 },
    ]);
    expect(await places()).toEqual([[3, [2, 4, 1]]]);
    expect(await moveFrom([3], [1, 2])).toBe(1);
    expect(await places()).toEqual([[2, [4, 1, 3]]]);
  });

  test('leaves what has nowhere to go, is not due, or waits at a connection that lives', async () => {
    await db.insertChunks(pool, [
      chunk(),
      chunk({ alternates: [3] }),
      chunk({ alternates: [2], availableAt: new Date(Date.now() + 60_000) }),
      chunk({ connectionId: 4, alternates: [2] }),
    ]);
    const before = await listChunks(pool);
    expect(await moveFrom([1], [2])).toBe(0);
    expect(await listChunks(pool)).toEqual(before);
  });

  test('never touches a claimed chunk: some of its messages may have been written', async () => {
    await db.insertChunks(pool, [chunk({ alternates: [2], ids: ids(5) })]);
    const [{ id } = { id: 0 }] = await claim();
    expect(await moveFrom([1], [2])).toBe(0);
    await db.updateIntents(pool, { owner: 7, intents: new Map([[id, 3]]) });
    expect(await moveFrom([1], [2])).toBe(0);
  });

  test('gives accounts fair turns in the new queue, each in its old order', async () => {
    await db.insertChunks(pool, [chunk({ accountId: 1, connectionId: 2 }), chunk({ accountId: 1, connectionId: 2 })]);
    const [first, second, other] = [1, 1, 3].map((accountId) => chunk({ accountId, alternates: [2] }));
    if (!first || !second || !other) throw new Error('unreachable');
    await db.insertChunks(pool, [first, second]);
    await db.insertChunks(pool, [other]);
    await exec(pool, sql`UPDATE dispatch_chunk SET round = round + 50 WHERE connection_id = 1`);
    expect(await moveFrom([1], [2])).toBe(3);
    const rounds = new Map((await listChunks(pool)).map((c) => [c.ids[0], c.round]));
    expect([first, second, other].map((c) => rounds.get(c.ids[0] ?? ''))).toEqual([2, 3, 0]);
  });

  test('moves the most urgent first, and counts the tries from zero', async () => {
    await db.insertChunks(pool, [chunk({ alternates: [2] }), chunk({ alternates: [2], priority: 0 })]);
    await exec(pool, sql`UPDATE dispatch_chunk SET tries = 1`);
    expect(await moveFrom([1], [2], 1)).toBe(1);
    expect((await listChunks(pool)).map((c) => [c.priority, c.connectionId, c.tries])).toEqual([
      [0, 2, 0],
      [1, 1, 1],
    ]);
  });
});

test('what a connection still has to send is counted, also what is claimed', async () => {
  await db.insertChunks(pool, [chunk({ ids: ids(3) }), chunk({ ids: ids(2) }), chunk({ connectionId: 2 })]);
  await claim();
  expect(await db.countQueued(pool, { connectionId: 1 })).toBe(5);
  expect(await db.countQueued(pool, { connectionId: 9 })).toBe(0);
});

test('a connection that goes is no alternate any more', async () => {
  await db.insertChunks(pool, [chunk({ alternates: [2, 3] }), chunk({ alternates: [4] })]);
  expect(await db.deleteAlternate(pool, { connectionId: 2 })).toBe(1);
  expect((await listChunks(pool)).map((c) => c.alternates)).toEqual([[3], [4]]);
});

test('a retry comes in its old turn, with its attempts, and not before its delay', async () => {
  const list = ids(2);
  await db.insertRetryChunk(pool, { ...chunk({ ids: list }), round: 5, attempt: 3, tries: 1, afterMs: 60_000 });
  expect(await claim(all)).toEqual([]);
  await exec(pool, sql`UPDATE dispatch_chunk SET available_at = available_at - interval '1 minute'`);
  expect(await claim(all)).toMatchObject([{ round: 5, attempt: 3, ids: list }]);
});

test('the wait for the next due chunk is in milliseconds, and null when none waits for its time', async () => {
  await db.insertChunks(pool, [chunk()]);
  expect(await db.findNextDueMs(pool, { connectionId: 1 })).toBeNull();
  await db.insertChunks(
    pool,
    [60_000, 30_000].map((ms) => chunk({ availableAt: new Date(Date.now() + ms) })),
  );
  const ms = await db.findNextDueMs(pool, { connectionId: 1 });
  expect(ms).toBeGreaterThan(25_000);
  expect(ms).toBeLessThanOrEqual(30_000);
  expect(await db.findNextDueMs(pool, { connectionId: 2 })).toBeNull();
});

test('orphans are the chunks of owners without a lock, oldest first, with all that a rescue needs', async () => {
  await db.insertChunks(pool, [chunk(), chunk({ ids: ids(3), connectionId: 2, accountId: 9 }), chunk()]);
  const [orphan] = await claim({ connectionId: 2, owner: 4_398_046_511_103 });
  const alive = await pool.connect();
  await alive.query('SELECT pg_advisory_lock(7)');
  await claim({ messages: 1 });
  expect(await transaction(pool, (tx) => db.claimOrphanChunks(tx, 10))).toEqual([
    { ...orphan, connectionId: 2, owner: 4_398_046_511_103 },
  ]);
  await alive.query('SELECT pg_advisory_unlock(7)');
  alive.release();
  expect(await transaction(pool, (tx) => db.claimOrphanChunks(tx, 1))).toHaveLength(1);
  expect(await transaction(pool, (tx) => db.claimOrphanChunks(tx, 10))).toHaveLength(2);
});

test('depths count what waits or is under way, and the age of the oldest that is due', async () => {
  await db.insertChunks(pool, [
    chunk({ ids: ids(10) }),
    chunk({ ids: ids(5), availableAt: new Date(Date.now() + 60_000) }),
    chunk({ ids: ids(2), connectionId: 2, availableAt: new Date(Date.now() + 60_000) }),
  ]);
  await exec(
    pool,
    sql`UPDATE dispatch_chunk SET intent = 4, available_at = now() - interval '90 seconds' WHERE size = 10`,
  );
  const [first, second, ...more] = await db.listQueueDepths(pool);
  expect(first).toEqual({ connectionId: 1, messages: 11, oldestSeconds: expect.closeTo(90, 0) });
  expect(second).toEqual({ connectionId: 2, messages: 2, oldestSeconds: 0 });
  expect(more).toEqual([]);
});

test('ids are kept out of line and uncompressed', async () => {
  const row = await one(
    pool,
    sql`SELECT attstorage AS storage FROM pg_attribute
    WHERE attrelid = 'dispatch_chunk'::regclass AND attname = 'ids'`,
  );
  expect(row).toEqual({ storage: 'e' });
});

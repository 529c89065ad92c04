import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import * as db from './connection-store.ts';
import { failOver } from './connections.ts';

const { pool } = testDatabase();

beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE connection, connection_status, connection_down, dispatch_chunk RESTART IDENTITY CASCADE`,
  );
  for (const name of ['one', 'two', 'three'])
    await db.insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} });
});

const DEAD_AFTER_MS = 30_000;
const run = () => failOver(pool, { deadAfterMs: DEAD_AFTER_MS });
const sees = (connectionId: number, up: boolean, worker = 11) =>
  db.insertConnectionStatus(pool, { connectionId, worker, up, bindsUp: up ? 1 : 0, bindsWanted: 1, fault: null });
const place = async () => (await listChunks(pool)).map((chunk) => chunk.connectionId);

/** Moves the start of all failures back by this much time. */
const pass = (seconds: number) =>
  exec(pool, sql`UPDATE connection_down SET since = since - ${seconds} * interval '1 second'`);

test('waiting messages move to the next connection that is up once no worker has had a bind for the set time', async () => {
  await queueMessages(pool, { count: 5, size: 2, alternates: [2, 3] });
  await sees(1, false);
  await sees(2, false);
  await sees(3, true);
  expect(await run()).toEqual({ down: true, more: false, moves: [] });
  await pass(29);
  expect((await run()).moves).toEqual([]);
  await pass(1);
  expect(await run()).toEqual({
    down: true,
    more: false,
    moves: [{ from: 'one', to: 'three', connectionId: 3, messages: 5 }],
  });
  expect(await place()).toEqual([3, 3, 3]);
});

test('a bind of any worker is enough, and restarts the time', async () => {
  await queueMessages(pool, { alternates: [2] });
  await sees(1, false, 11);
  await sees(2, true);
  await run();
  await pass(60);
  await sees(1, true, 12);
  expect(await run()).toEqual({ down: true, more: false, moves: [] });
  await sees(1, false, 12);
  await run();
  expect(await place()).toEqual([1]);
});

test('what a worker saw a minute ago no longer counts', async () => {
  await queueMessages(pool, { alternates: [2] });
  await sees(1, true);
  await exec(pool, sql`UPDATE connection_status SET updated_at = now() - interval '61 seconds'`);
  await sees(2, true);
  await run();
  await pass(30);
  await run();
  expect(await place()).toEqual([2]);
});

test('a paused connection is dead at once, and nothing moves to it', async () => {
  await queueMessages(pool, { alternates: [2, 3] });
  for (const id of [1, 2, 3]) await sees(id, true);
  await db.moveConnectionStatus(pool, { name: 'one', status: 'paused' });
  await db.moveConnectionStatus(pool, { name: 'two', status: 'paused' });
  expect((await run()).moves).toMatchObject([{ from: 'one', to: 'three' }]);
});

test('a resumed connection has time to come up', async () => {
  await db.moveConnectionStatus(pool, { name: 'one', status: 'paused' });
  await run();
  await pass(60);
  await db.moveConnectionStatus(pool, { name: 'one', status: 'active' });
  await queueMessages(pool, { alternates: [2] });
  await sees(2, true);
  await run();
  expect(await place()).toEqual([1]);
});

test('time in which no worker ran does not count', async () => {
  await queueMessages(pool, { alternates: [2] });
  await run();
  await pass(3600);
  await exec(pool, sql`UPDATE connection_down SET seen_at = now() - interval '16 seconds'`);
  await sees(2, true);
  await run();
  expect(await place()).toEqual([1]);
});

test('moved messages stay when the first connection is back', async () => {
  await queueMessages(pool, { alternates: [2] });
  await sees(2, true);
  await run();
  await pass(30);
  await run();
  await sees(1, true);
  expect((await run()).moves).toEqual([]);
  expect(await place()).toEqual([2]);
});

test('everything waits when no connection is up, and messages without another connection always wait', async () => {
  await queueMessages(pool, { alternates: [2] });
  await queueMessages(pool, {});
  await run();
  await pass(60);
  expect(await run()).toEqual({ down: true, more: false, moves: [] });
  await sees(2, true);
  await run();
  expect((await place()).toSorted()).toEqual([1, 2]);
});

test('a long queue moves in batches until it is empty', async () => {
  await queueMessages(pool, { count: 501, size: 1, alternates: [2] });
  await sees(2, true);
  await run();
  await pass(30);
  expect(await run()).toMatchObject({ more: true, moves: [{ messages: 500 }] });
  expect(await run()).toMatchObject({ more: false, moves: [{ messages: 1 }] });
});

test('one worker at a time decides', async () => {
  await transaction(pool, async (tx) => {
    expect(await db.claimFailOver(tx)).toBe(true);
    await exec(tx, sql`SELECT 1`);
    expect(await run()).toEqual({ down: false, more: false, moves: [] });
  });
  const { count } = await one<{ count: number }>(pool, sql`SELECT count(*)::int AS count FROM connection_down`);
  expect(count).toBe(0);
});

import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exec, sql } from '../db/query.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import * as db from './sql.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool;
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => exec(pool, sql`TRUNCATE connection, connection_status RESTART IDENTITY CASCADE`));

const insert = (name: string, sandbox = false) =>
  db.insertConnection(pool, { name, kind: 'smpp', sandbox, settings: { host: 'smsc.example' } });
const seen = (connectionId: number, worker: number, more: Partial<db.ConnectionStatus> = {}) =>
  db.insertConnectionStatus(pool, {
    connectionId,
    worker,
    up: true,
    bindsUp: 1,
    bindsWanted: 2,
    fault: null,
    ...more,
  });

test('a connection is found by its name, and a name is given once', async () => {
  const made = await insert('carrier');
  expect(await insert('carrier')).toBeUndefined();
  expect(await db.findConnection(pool, { name: 'carrier' })).toMatchObject({
    id: made?.id,
    kind: 'smpp',
    status: 'active',
    sandbox: false,
    settings: { host: 'smsc.example' },
    version: 1,
  });
  expect(await db.findConnection(pool, { name: 'other' })).toBeUndefined();
});

test('every change raises the version, so that running workers notice', async () => {
  const { id = 0 } = (await insert('carrier')) ?? {};
  await db.moveConnectionSettings(pool, { id, settings: { host: 'new.example' }, secret: Buffer.of(0, 255) });
  expect(await db.findConnection(pool, { name: 'carrier' })).toMatchObject({
    settings: { host: 'new.example' },
    secret: Buffer.of(0, 255),
    version: 2,
  });
  expect(await db.moveConnectionStatus(pool, { name: 'carrier', status: 'paused' })).toBe(1);
  expect(await db.moveConnectionStatus(pool, { name: 'carrier', status: 'paused' })).toBe(0);
  expect(await db.findConnection(pool, { name: 'carrier' })).toMatchObject({ status: 'paused', version: 3 });
});

test('sandbox connections do not count as real ones', async () => {
  await insert('sandbox', true);
  expect(await db.countRealConnections(pool)).toBe(0);
  await insert('carrier');
  expect(await db.countRealConnections(pool)).toBe(1);
  expect((await db.listConnections(pool)).map((c) => c.name)).toEqual(['sandbox', 'carrier']);
});

test('what the workers see of a connection is added up, and a fault of one is shown', async () => {
  await insert('one');
  await insert('two');
  await seen(1, 11);
  await seen(1, 12, { up: false, bindsUp: 0, fault: 'invalid password' });
  await seen(1, 11, { bindsUp: 2 });
  expect(await db.listConnectionStatus(pool)).toEqual([
    {
      id: 1,
      name: 'one',
      kind: 'smpp',
      status: 'active',
      up: true,
      bindsUp: 2,
      bindsWanted: 4,
      fault: 'invalid password',
    },
    { id: 2, name: 'two', kind: 'smpp', status: 'active', up: false, bindsUp: 0, bindsWanted: 0, fault: null },
  ]);
});

test('what a worker saw is forgotten when it says so, and when it has been silent for a minute', async () => {
  await insert('one');
  for (const worker of [11, 12, 13]) await seen(1, worker);
  await db.deleteConnectionStatus(pool, { worker: 11, connectionId: 1 });
  expect(await db.listConnectionStatus(pool)).toMatchObject([{ bindsUp: 2 }]);
  await exec(pool, sql`UPDATE connection_status SET updated_at = now() - interval '61 seconds' WHERE worker = 12`);
  expect(await db.listConnectionStatus(pool)).toMatchObject([{ bindsUp: 1 }]);
  expect(await db.deleteStaleConnectionStatus(pool)).toBe(1);
  await seen(1, 13);
  expect(await db.deleteStaleConnectionStatus(pool)).toBe(0);
});

test('how many other workers have a connection up is counted, and only while they say so', async () => {
  await insert('one');
  await insert('two');
  for (const worker of [11, 12, 13]) await seen(1, worker);
  await seen(2, 12, { up: false });
  await exec(pool, sql`UPDATE connection_status SET updated_at = now() - interval '61 seconds' WHERE worker = 13`);
  expect(await db.listWorkersUp(pool, { besides: 11 })).toEqual([{ connectionId: 1, workers: 1 }]);
  expect(await db.listWorkersUp(pool, { besides: 99 })).toEqual([{ connectionId: 1, workers: 2 }]);
});

test('what a dead worker saw is forgotten at once, what a living one sees stays', async () => {
  await insert('one');
  await seen(1, 11);
  await seen(1, 12);
  const alive = await pool.connect();
  await alive.query('SELECT pg_advisory_lock(12)');
  expect(await db.deleteDeadConnectionStatus(pool)).toBe(1);
  expect(await db.listWorkersUp(pool, { besides: 0 })).toEqual([{ connectionId: 1, workers: 1 }]);
  alive.release(true);
});

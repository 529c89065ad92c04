import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from '../core/db/query.ts';
import * as db from './connection-store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE connection, connection_status RESTART IDENTITY CASCADE`));

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

test('a connection is found by its name, and names are unique', async () => {
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
  await db.updateConnectionSettings(pool, { id, settings: { host: 'new.example' }, secret: Buffer.of(0, 255) });
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

test('what the workers see of a connection is added up, and the fault of one is shown', async () => {
  await insert('one');
  await insert('two');
  await seen(1, 11);
  await seen(1, 12, { up: false, bindsUp: 0, fault: 'invalid password' });
  await seen(1, 11, { bindsUp: 2 });
  const none = { startsLater: false, lastError: null, lastErrorAt: null };
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
      ...none,
    },
    { id: 2, name: 'two', kind: 'smpp', status: 'active', up: false, bindsUp: 0, bindsWanted: 0, fault: null, ...none },
  ]);
});

test('the last error of a connection is the later of that of its links and that of its messages', async () => {
  await insert('one');
  const last = async () => (await db.listConnectionStatus(pool))[0];
  expect(await last()).toMatchObject({ lastError: null, lastErrorAt: null });
  await db.insertConnectionError(pool, { connectionId: 1, worker: 11, reason: 'refused' });
  const { lastErrorAt: at } = (await last()) ?? {};
  expect(at).toBeInstanceOf(Date);
  await seen(1, 11);
  await exec(pool, sql`UPDATE connection_status SET last_error = 'ESME_RSYSERR', last_error_at = now()`);
  expect(await last()).toMatchObject({ lastError: 'ESME_RSYSERR' });
  await exec(pool, sql`UPDATE connection_status SET last_error_at = now() - interval '1 hour'`);
  expect(await last()).toMatchObject({ lastError: 'refused', lastErrorAt: at });
  await db.insertConnectionError(pool, { connectionId: 1, worker: 11, reason: 'reset' });
  expect(await last()).toMatchObject({ lastError: 'reset' });
});

test('an error of the links outlives its worker, until a worker has them all; that of another worker stays', async () => {
  await insert('one');
  const alive = await pool.connect();
  await alive.query('SELECT pg_advisory_lock(12)');
  const errors = async () =>
    (await many<{ worker: number }>(pool, sql`SELECT worker FROM connection_error ORDER BY worker`)).map(
      (e) => e.worker,
    );
  for (const worker of [11, 12]) await db.insertConnectionError(pool, { connectionId: 1, worker, reason: 'refused' });
  expect(await errors()).toEqual([12]);
  await db.insertConnectionError(pool, { connectionId: 1, worker: 10, reason: 'refused' });
  expect(await db.deleteConnectionErrors(pool, { worker: 99, connectionIds: [1] })).toBe(1);
  expect(await errors()).toEqual([12]);
  expect(await db.deleteConnectionErrors(pool, { worker: 12, connectionIds: [2] })).toBe(0);
  expect(await db.deleteConnectionErrors(pool, { worker: 12, connectionIds: [1] })).toBe(1);
  alive.release(true);
});

test('an error of a removed connection is not stored, and earlier ones are removed with it', async () => {
  await insert('one');
  await db.insertConnectionError(pool, { connectionId: 1, worker: 11, reason: 'refused' });
  await db.deleteConnection(pool, { id: 1 });
  await db.insertConnectionError(pool, { connectionId: 1, worker: 11, reason: 'refused' });
  expect(await many(pool, sql`SELECT 1 FROM connection_error`)).toEqual([]);
});

test('what a worker saw is deleted when it says so, and when it has been silent for a minute', async () => {
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

test('other workers that have a connection up are counted, but only while they report it', async () => {
  await insert('one');
  await insert('two');
  for (const worker of [11, 12, 13]) await seen(1, worker);
  await seen(2, 12, { up: false });
  await exec(pool, sql`UPDATE connection_status SET updated_at = now() - interval '61 seconds' WHERE worker = 13`);
  expect(await db.listWorkersUp(pool, { besides: 11 })).toEqual([{ connectionId: 1, workers: 1 }]);
  expect(await db.listWorkersUp(pool, { besides: 99 })).toEqual([{ connectionId: 1, workers: 2 }]);
});

test('what a dead worker saw is deleted at once, and what a live one sees stays', async () => {
  await insert('one');
  await seen(1, 11);
  await seen(1, 12);
  const alive = await pool.connect();
  await alive.query('SELECT pg_advisory_lock(12)');
  expect(await db.deleteDeadConnectionStatus(pool)).toBe(1);
  expect(await db.listWorkersUp(pool, { besides: 0 })).toEqual([{ connectionId: 1, workers: 1 }]);
  alive.release(true);
});

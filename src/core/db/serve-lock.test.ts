import { afterAll, expect, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { createTestDatabase } from '../../../test/support/database.ts';
import { acquireServeLock } from './embedded.ts';

const database = await createTestDatabase({ empty: true });
const { connectionString } = database;
afterAll(() => database[Symbol.asyncDispose]());

const first = 'process 4711, http://127.0.0.1:8080';

test('a second program learns which process serves, and may serve once the first has released the lock', async () => {
  const lock = await acquireServeLock(connectionString, first);
  expect(await acquireServeLock(connectionString, 'another')).toEqual({ held: false, holder: first });
  if (lock.held) await lock.release();
  const next = await acquireServeLock(connectionString, 'another');
  expect(next.held).toBe(true);
  if (next.held) await next.release();
});

test('programs on two databases of one server do not conflict', async () => {
  await using other = await createTestDatabase({ empty: true });
  const locks = [await acquireServeLock(connectionString, first), await acquireServeLock(other.connectionString, 'b')];
  for (const lock of locks) {
    expect(lock.held).toBe(true);
    if (lock.held) await lock.release();
  }
});

test('a holder whose connection is lost has no lock and does not crash', async () => {
  const lock = await acquireServeLock(connectionString, 'cut off');
  await runOn(
    connectionString,
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'cut off'",
  );
  const next = await acquireServeLock(connectionString, 'another');
  expect(next.held).toBe(true);
  if (next.held) await next.release();
  if (lock.held) await lock.release();
});

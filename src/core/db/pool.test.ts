import { afterAll, expect, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { createTestDatabase } from '../../../test/support/database.ts';
import { type Log, silentLog } from '../log.ts';
import { createPool } from './pool.ts';
import { many, one, sql } from './query.ts';

const database = await createTestDatabase({ empty: true });
const { pool, connectionString } = database;
afterAll(() => database[Symbol.asyncDispose]());

test('bigint becomes a number, also in arrays, and null stays null', async () => {
  const query = sql`SELECT 9007199254740991::bigint AS a, '{1,NULL,-3}'::bigint[] AS b, '{}'::bigint[] AS c`;
  expect(await one(pool, query)).toEqual({ a: 9007199254740991, b: [1, null, -3], c: [] });
});

test('a bigint that a number cannot hold is an error, not a rounded value', async () => {
  await expect(many(pool, sql`SELECT 9007199254740992::bigint AS a`)).rejects.toThrow(/9007199254740992 does not fit/);
  await expect(many(pool, sql`SELECT '{9007199254740993}'::bigint[] AS a`)).rejects.toThrow(RangeError);
  expect(await one(pool, sql`SELECT 1 AS a`)).toEqual({ a: 1 });
});

test('an instant becomes a Date, and a calendar day its text', async () => {
  const row = await one(pool, sql`SELECT timestamptz '2026-03-01 12:00:00.5+02' AS at, date '2026-03-29' AS day`);
  expect(row).toEqual({ at: new Date('2026-03-01T10:00:00.500Z'), day: '2026-03-29' });
});

test('every session plans for the values at hand and has timeouts', async () => {
  const names = ['plan_cache_mode', 'jit', 'statement_timeout', 'idle_in_transaction_session_timeout', 'TimeZone'];
  const settings = await one(
    pool,
    sql`SELECT array_agg(current_setting(name) ORDER BY n) AS values
    FROM unnest(${names}::text[]) WITH ORDINALITY AS t (name, n)`,
  );
  expect(settings).toEqual({ values: ['auto', 'off', '1min', '30s', 'UTC'] });
});

test('a lost connection is logged, also while it is in use between two statements, and the next query works', async () => {
  const lost = Promise.withResolvers<string>();
  const log: Log = { ...silentLog, warn: (_, message) => lost.resolve(message) };
  const own = createPool(connectionString, { max: 1, applicationName: 'lost', log });
  const client = await own.connect();
  await runOn(
    connectionString,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lost'",
  );
  expect(await lost.promise).toBe('database connection lost');
  client.release(true);
  expect(await one(own, sql`SELECT 1 AS a`)).toEqual({ a: 1 });
  await own.end();
});

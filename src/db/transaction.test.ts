import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { exec, many, one, sql } from './query.ts';
import { transaction } from './transaction.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  await exec(database.pool, sql`CREATE TABLE thing (n int PRIMARY KEY)`);
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => exec(database.pool, sql`TRUNCATE thing`));

const stored = async (): Promise<number[]> =>
  (await many<{ n: number }>(database.pool, sql`SELECT n FROM thing ORDER BY n`)).map((row) => row.n);

test('what the work wrote is committed when it resolves, and its result is handed on', async () => {
  const result = await transaction(database.pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    expect(await stored()).toEqual([]);
    return 'done';
  });
  expect(result).toBe('done');
  expect(await stored()).toEqual([1]);
});

test('nothing is stored when the work throws, and its error is handed on', async () => {
  const failing = transaction(database.pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await stored()).toEqual([]);
});

test('nothing is stored when a statement fails, even if the work goes on', async () => {
  const failing = transaction(database.pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    await exec(tx, sql`INSERT INTO thing VALUES (1)`).catch(() => undefined);
    await exec(tx, sql`INSERT INTO thing VALUES (2)`);
  });
  await expect(failing).rejects.toThrow('current transaction is aborted');
  expect(await stored()).toEqual([]);
});

test('a failure that is known only at the commit is an error', async () => {
  await exec(database.pool, sql`CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
  const failing = transaction(database.pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    await exec(tx, sql`INSERT INTO late VALUES (1), (1)`);
  });
  await expect(failing).rejects.toThrow('late_n_key');
  expect(await stored()).toEqual([]);
});

test('clients go back to the pool after commits and failures alike', async () => {
  for (let i = 0; i < 30; i++)
    await transaction(database.pool, async () => {
      if (i % 2 === 0) throw new Error('no');
    }).catch(() => undefined);
  expect(database.pool.waitingCount).toBe(0);
  expect(database.pool.idleCount).toBe(database.pool.totalCount);
});

test('a connection that dies in the middle is an error, and the next transaction gets a new one', async () => {
  const dying = transaction(database.pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    const { pid } = await one<{ pid: number }>(tx, sql`SELECT pg_backend_pid() AS pid`);
    await exec(database.pool, sql`SELECT pg_terminate_backend(${pid}, 5000)`);
    await exec(tx, sql`INSERT INTO thing VALUES (2)`);
  });
  await expect(dying).rejects.toThrow();
  await transaction(database.pool, (tx) => exec(tx, sql`INSERT INTO thing VALUES (3)`));
  expect(await stored()).toEqual([3]);
});

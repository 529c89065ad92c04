import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { countLockWaits } from '../../../test/support/lock-waits.ts';
import { reset } from '../../../test/support/reset.ts';
import { until } from '../../../test/support/until.ts';
import { type Db, exec, many, one, sql } from './query.ts';
import { burst, repeatedTransaction, transaction } from './transaction.ts';

const { pool } = testDatabase({ empty: true });

beforeAll(async () => {
  await exec(pool, sql`CREATE TABLE thing (n int PRIMARY KEY)`);
});
beforeEach(() => reset(pool, sql`TRUNCATE thing`));

const stored = async (): Promise<number[]> =>
  (await many<{ n: number }>(pool, sql`SELECT n FROM thing ORDER BY n`)).map((row) => row.n);

test('the writes are committed when the work resolves, and its result is returned', async () => {
  const result = await transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    expect(await stored()).toEqual([]);
    return 'done';
  });
  expect(result).toBe('done');
  expect(await stored()).toEqual([1]);
});

test('nothing is stored when the work throws, and its error is rethrown', async () => {
  const failing = transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await stored()).toEqual([]);
});

test('nothing is stored when a statement fails, even if the work goes on', async () => {
  const failing = transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    await exec(tx, sql`INSERT INTO thing VALUES (1)`).catch(() => undefined);
    await exec(tx, sql`INSERT INTO thing VALUES (2)`);
  });
  await expect(failing).rejects.toThrow('current transaction is aborted');
  expect(await stored()).toEqual([]);
});

test('a failed statement whose error the work swallowed does not count as a commit', async () => {
  const failing = transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    await exec(tx, sql`INSERT INTO thing VALUES (1)`).catch(() => undefined);
  });
  await expect(failing).rejects.toThrow('rolled back');
  expect(await stored()).toEqual([]);
});

test('a transaction that PostgreSQL ends because of a deadlock is repeated, and stores its rows once', async () => {
  const lock = (to: Db, n: number) => exec(to, sql`SELECT pg_advisory_xact_lock(${n}::bigint)`);
  const other = await pool.connect();
  onTestFinished(() => other.release());
  await other.query('BEGIN');
  // The deadlock is found by the one that looks for it after this time of waiting, once.
  await other.query("SET LOCAL deadlock_timeout = '10min'");
  await lock(other, 2);
  const holdsFirst = Promise.withResolvers<void>();
  const otherWaits = Promise.withResolvers<void>();
  let tries = 0;
  const repeated = repeatedTransaction(pool, async (tx) => {
    tries += 1;
    await exec(tx, sql`SET LOCAL deadlock_timeout = '10ms'`);
    await lock(tx, 1);
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    holdsFirst.resolve();
    await otherWaits.promise;
    await lock(tx, 2);
  });
  await holdsFirst.promise;
  const locked = lock(other, 1);
  await until('the other one to wait', async () => (await countLockWaits(pool)) === 1);
  otherWaits.resolve();
  await locked;
  await other.query('COMMIT');
  await repeated;
  expect(tries).toBe(2);
  expect(await stored()).toEqual([1]);
});

test('a failure at the commit is an error', async () => {
  await exec(pool, sql`CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
  const failing = transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    await exec(tx, sql`INSERT INTO late VALUES (1), (1)`);
  });
  await expect(failing).rejects.toThrow('late_n_key');
  expect(await stored()).toEqual([]);
});

test('clients return to the pool after commits and failures alike', async () => {
  for (let i = 0; i < 30; i++)
    await transaction(pool, async () => {
      if (i % 2 === 0) throw new Error('no');
    }).catch(() => undefined);
  expect(pool.waitingCount).toBe(0);
  expect(pool.idleCount).toBe(pool.totalCount);
});

test('a connection that dies in the middle is an error, and the next transaction gets a new one', async () => {
  const dying = transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO thing VALUES (1)`);
    const { pid } = await one<{ pid: number }>(tx, sql`SELECT pg_backend_pid() AS pid`);
    await exec(pool, sql`SELECT pg_terminate_backend(${pid}, 5000)`);
    await exec(tx, sql`INSERT INTO thing VALUES (2)`);
  });
  await expect(dying).rejects.toThrow();
  await transaction(pool, (tx) => exec(tx, sql`INSERT INTO thing VALUES (3)`));
  expect(await stored()).toEqual([3]);
});

describe('a burst', () => {
  const insert = (n: number) => sql`INSERT INTO thing VALUES (${n})`;

  test('commits all its statements, in order, and returns their results', async () => {
    const results = await burst(pool, (tx) => [
      exec(tx, insert(1)),
      exec(tx, sql`UPDATE thing SET n = n + 1`),
      one<{ n: number }>(tx, sql`SELECT n FROM thing`),
    ]);
    expect(results).toEqual([1, 1, { n: 2 }]);
    expect(await stored()).toEqual([2]);
  });

  test('stores nothing when one statement fails, whichever it is, and rejects with its error', async () => {
    for (const list of [
      [1, 1, 2],
      [1, 2, 1],
    ])
      await expect(burst(pool, (tx) => list.map((n) => exec(tx, insert(n))))).rejects.toThrow('thing_pkey');
    expect(await stored()).toEqual([]);
    expect(await transaction(pool, (tx) => exec(tx, insert(3)))).toBe(1);
  });

  test('rejects a statement that is issued after it was sent', async () => {
    let late: Promise<unknown> = Promise.resolve();
    await burst(pool, (tx) => {
      const statement = Promise.resolve().then(() => exec(tx, insert(9)));
      late = statement.catch((error: unknown) => error);
      return [exec(tx, insert(1))];
    });
    expect(await late).toMatchObject({ message: expect.stringContaining('too late') });
    expect(await stored()).toEqual([1]);
  });

  test('releases its client, also after failures', async () => {
    for (let i = 0; i < 30; i++)
      await burst(pool, (tx) => [exec(tx, insert(1)), exec(tx, insert(i % 2))]).catch(() => undefined);
    expect(pool.waitingCount).toBe(0);
    expect(pool.idleCount).toBe(pool.totalCount);
  });
});

import { expect, test } from 'vitest';
import { exec, many, sql } from '../../src/core/db/query.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { testDatabase } from './database.ts';
import { countLockWaits } from './lock-waits.ts';
import { reset } from './reset.ts';

const { pool } = testDatabase();

test('a reset lets a statement go on that has one of its locks and wants another', async () => {
  await exec(pool, sql`CREATE TABLE first (n int)`);
  await exec(pool, sql`CREATE TABLE second (n int)`);
  await exec(pool, sql`INSERT INTO first VALUES (1)`);
  const resetting = await transaction(pool, async (tx) => {
    await exec(tx, sql`INSERT INTO second VALUES (1)`);
    const done = reset(pool, sql`TRUNCATE first, second`);
    // The reset has the lock of `first` now, and waits for the other: without giving it back, neither could go on.
    await expect.poll(() => countLockWaits(pool)).toBe(1);
    await exec(tx, sql`INSERT INTO first VALUES (2)`);
    return { done };
  });
  await resetting.done;
  expect(await many(pool, sql`SELECT FROM first UNION ALL SELECT FROM second`)).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { exec, many, maybeOne, one, sql } from './query.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});
afterAll(() => database[Symbol.asyncDispose]());

const rows = (count: number) => sql`SELECT n FROM generate_series(1, ${count}::int) AS n`;

test('many gives all rows, in order', async () => {
  expect(await many(database.pool, rows(3))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(await many(database.pool, rows(0))).toEqual([]);
});

test('maybeOne gives the row or undefined, and throws on several', async () => {
  expect(await maybeOne(database.pool, rows(1))).toEqual({ n: 1 });
  expect(await maybeOne(database.pool, rows(0))).toBeUndefined();
  await expect(maybeOne(database.pool, rows(2))).rejects.toThrow('at most one row, got 2');
});

test('one throws on none and on several', async () => {
  expect(await one(database.pool, rows(1))).toEqual({ n: 1 });
  await expect(one(database.pool, rows(0))).rejects.toThrow('expected one row, got none');
  await expect(one(database.pool, rows(2))).rejects.toThrow('at most one row, got 2');
});

test('exec tells how many rows it touched, and none for a statement that touches none', async () => {
  await exec(database.pool, sql`CREATE TABLE thing (n int)`);
  expect(await exec(database.pool, sql`INSERT INTO thing ${rows(5)}`)).toBe(5);
  expect(await exec(database.pool, sql`UPDATE thing SET n = 0 WHERE n > ${3}`)).toBe(2);
  expect(await exec(database.pool, sql`CREATE INDEX ON thing (n)`)).toBe(0);
});

test('a value is never read as SQL', async () => {
  const text = `'; DROP TABLE thing; --`;
  expect(await one(database.pool, sql`SELECT ${text}::text AS text`)).toEqual({ text });
});

import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { constant, exec, many, maybeOne, one, sql, tuples } from './query.ts';

const { pool } = testDatabase({ empty: true });

const rows = (count: number) => sql`SELECT n FROM generate_series(1, ${count}::int) AS n`;

test('many gives all rows, in order', async () => {
  expect(await many(pool, rows(3))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(await many(pool, rows(0))).toEqual([]);
});

test('maybeOne gives the row or undefined, and throws on several', async () => {
  expect(await maybeOne(pool, rows(1))).toEqual({ n: 1 });
  expect(await maybeOne(pool, rows(0))).toBeUndefined();
  await expect(maybeOne(pool, rows(2))).rejects.toThrow('at most one row, got 2');
});

test('one throws on none and on several', async () => {
  expect(await one(pool, rows(1))).toEqual({ n: 1 });
  await expect(one(pool, rows(0))).rejects.toThrow('expected one row, got none');
  await expect(one(pool, rows(2))).rejects.toThrow('at most one row, got 2');
});

test('exec returns the number of affected rows, and 0 for a statement that affects none', async () => {
  await exec(pool, sql`CREATE TABLE thing (n int)`);
  expect(await exec(pool, sql`INSERT INTO thing ${rows(5)}`)).toBe(5);
  expect(await exec(pool, sql`UPDATE thing SET n = 0 WHERE n > ${3}`)).toBe(2);
  expect(await exec(pool, sql`CREATE INDEX ON thing (n)`)).toBe(0);
});

test('a value is never read as SQL', async () => {
  const text = `'; DROP TABLE thing; --`;
  expect(await one(pool, sql`SELECT ${text}::text AS text`)).toEqual({ text });
});

test('tuples gives the values in the order of the select list', async () => {
  expect(await tuples<[number, string]>(pool, sql`SELECT 1 AS same, 'a' AS same`)).toEqual([[1, 'a']]);
});

test('a constant is a part of the text, a value is a parameter', async () => {
  const statement = sql`SELECT n FROM generate_series(1, 3) AS n WHERE n = ${constant(2)} OR n = ${3}`;
  expect([statement.text, statement.values]).toEqual([
    'SELECT n FROM generate_series(1, 3) AS n WHERE n = 2 OR n = $1',
    [3],
  ]);
  expect(await many(pool, statement)).toEqual([{ n: 2 }, { n: 3 }]);
});

test('a nested statement becomes a part of the text, with its parameters', async () => {
  const condition = sql`n > ${1} AND n < ${3}`;
  const statement = sql`SELECT n FROM (${rows(3)}) AS r WHERE ${condition}`;
  expect(statement.values).toEqual([3, 1, 3]);
  expect(await many(pool, statement)).toEqual([{ n: 2 }]);
});

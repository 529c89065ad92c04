import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { reset } from '../../../test/support/reset.ts';
import { createPipeline } from './pipeline.ts';
import { exec, many, one, onePlan, sql, tuples } from './query.ts';
import { burst } from './transaction.ts';

const database = await createTestDatabase({ empty: true });
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

beforeAll(async () => {
  await exec(pool, sql`CREATE TABLE thing (n int PRIMARY KEY, late int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
});
beforeEach(() => reset(pool, sql`TRUNCATE thing`));

const insert = (n: number) => onePlan(sql`INSERT INTO thing VALUES (${n})`);
const stored = (): Promise<[number][]> => tuples<[number]>(pool, sql`SELECT n FROM thing ORDER BY n`);

test('each statement gets its own rows, in the form that it asks for', async () => {
  const pair = sql`SELECT n, n * 2 AS twice FROM generate_series(1, ${2}) AS n`;
  const [none, objects, arrays, last] = await burst(pool, (tx) => [
    many(tx, sql`SELECT 1 WHERE false`),
    many<{ n: number; twice: number }>(tx, pair),
    tuples<[number, number]>(tx, pair),
    one<{ big: number }>(tx, sql`SELECT 12345678901::bigint AS big`),
  ]);
  expect(none).toEqual([]);
  expect(objects).toEqual([
    { n: 1, twice: 2 },
    { n: 2, twice: 4 },
  ]);
  expect(arrays).toEqual([
    [1, 2],
    [2, 4],
  ]);
  expect(last).toEqual({ big: 12_345_678_901 });
});

test('a statement is prepared once, also when one before it has failed', async () => {
  const other = onePlan(sql`UPDATE thing SET n = n + ${10}`);
  for (let i = 0; i < 2; i++)
    await expect(burst(pool, (tx) => [exec(tx, insert(1)), exec(tx, insert(1)), exec(tx, other)])).rejects.toThrow(
      'thing_pkey',
    );
  for (let i = 0; i < 2; i++) await burst(pool, (tx) => [exec(tx, insert(i)), exec(tx, other)]);
  expect(await stored()).toEqual([[11], [20]]);
});

test('an error at the commit rejects all statements, and nothing is stored', async () => {
  const client = await pool.connect();
  const pipeline = createPipeline();
  const statements = [1, 2].map((n) => exec(pipeline, sql`INSERT INTO thing VALUES (${n}, 7)`));
  const [sent, ...each] = await Promise.allSettled([pipeline.send(client), ...statements]);
  client.release();
  expect(sent).toMatchObject({ status: 'rejected', reason: { constraint: 'thing_late_key' } });
  expect(each.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await stored()).toEqual([]);
});

test('a statement whose value cannot be sent stores nothing, and its connection is given up', async () => {
  const round: Record<string, unknown> = {};
  round['itself'] = round;
  const odd = burst(pool, (tx) => [
    exec(tx, insert(1)),
    tx.query({ text: 'SELECT $1::json', values: [round] }),
    exec(tx, insert(2)),
  ]);
  await expect(odd).rejects.toThrow('cannot be sent');
  await burst(pool, (tx) => [exec(tx, insert(3))]);
  expect(await stored()).toEqual([[3]]);
});

test('a connection that dies under way rejects all statements, and the next ones get a new one', async () => {
  const dying = burst(pool, (tx) => [
    exec(tx, insert(1)),
    exec(tx, sql`SELECT pg_terminate_backend(pg_backend_pid())`),
    exec(tx, insert(2)),
  ]);
  await expect(dying).rejects.toThrow();
  await burst(pool, (tx) => [exec(tx, insert(3))]);
  expect(await stored()).toEqual([[3]]);
});

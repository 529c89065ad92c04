import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { explain } from '../../test/support/plans.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from './db/query.ts';
import { transaction } from './db/transaction.ts';
import * as db from './idempotency.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE idempotency_key`));

const row = (key: string, accountId = 1): db.SealedAnswer => ({
  accountId,
  key,
  requestHash: Buffer.alloc(32, 1),
  answer: Buffer.from(`answer to ${key} of ${accountId}`),
});
const keys = async () =>
  (await many<db.Key>(pool, sql`SELECT account_id AS "accountId", key FROM idempotency_key ORDER BY 1, 2`)).map(
    ({ accountId, key }) => `${accountId} ${key}`,
  );
const error = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  );

test('one taken key fails the whole transaction with a recognisable error', async () => {
  await db.insertAnswers(pool, [row('a')]);
  expect(db.isKeyTaken(await error(db.insertAnswers(pool, [row('b'), row('a')])))).toBe(true);
  expect(await keys()).toEqual(['1 a']);
  await db.insertAnswers(pool, [row('b'), row('a', 2)]);
  expect(await keys()).toEqual(['1 a', '1 b', '2 a']);
  expect(db.isKeyTaken(await error(pool.query('SELECT 1/0')))).toBe(false);
  expect(
    db.isKeyTaken(await error(exec(pool, sql`INSERT INTO account OVERRIDING SYSTEM VALUE SELECT * FROM account`))),
  ).toBe(false);
});

test('the response to a request that changed nothing does not replace an existing one', async () => {
  await db.insertAnswers(pool, [row('a')]);
  await db.insertFreeAnswers(pool, [{ ...row('a'), answer: Buffer.from('later') }, row('b')]);
  const found = await db.listAnswers(pool, [row('a'), row('b'), row('c')]);
  expect(found.map(({ answer }) => answer.toString()).toSorted()).toEqual(['answer to a of 1', 'answer to b of 1']);
});

test('responses are found by account and key together', async () => {
  await db.insertAnswers(pool, [row('a'), row('a', 2), row('b', 2)]);
  const wanted = [row('a', 2), row('b'), row('b', 2)];
  const names = (found: readonly db.Key[]) => found.map(({ accountId, key }) => `${accountId} ${key}`).toSorted();
  expect(names(await db.listAnswers(pool, wanted))).toEqual(['2 a', '2 b']);
  expect(names(await db.listTakenKeys(pool, wanted))).toEqual(['2 a', '2 b']);
});

test('a key is held until its transaction ends, by one of two requests, and per account', async () => {
  await transaction(pool, async (tx) => {
    await db.claimKey(tx, row('a'));
    expect(db.isKeyTaken(await error(transaction(pool, (other) => db.claimKey(other, row('a')))))).toBe(true);
    await transaction(pool, (other) => db.claimKey(other, row('a', 2)));
  });
  await transaction(pool, (tx) => db.claimKey(tx, row('a')));
});

test('responses are deleted after 24 hours, the oldest first and in batches', async () => {
  await db.insertAnswers(
    pool,
    ['a', 'b', 'c', 'd'].map((key) => row(key)),
  );
  const age = (key: string, by: string) =>
    exec(pool, sql`UPDATE idempotency_key SET created_at = now() - ${by}::interval WHERE key = ${key}`);
  await age('a', '24 hours 1 second');
  await age('b', '3 days');
  await age('c', '2 days');
  await age('d', '23 hours 59 minutes');
  expect(await db.deleteOldAnswers(pool, { limit: 2 })).toBe(2);
  expect(await keys()).toEqual(['1 a', '1 d']);
  expect(await db.deleteOldAnswers(pool, { limit: 2 })).toBe(1);
  expect(await db.deleteOldAnswers(pool, { limit: 2 })).toBe(0);
  expect(await keys()).toEqual(['1 d']);
});

test('a lookup of many keys uses the primary key, even in a table that was never analysed', async () => {
  const wanted = Array.from({ length: 100 }, (_, i) => row(`k${i}`));
  const [byKeys] = (await explain(pool, (on) => db.listAnswers(on, wanted))).filter(({ table }) => table !== null);
  expect(byKeys).toMatchObject({ index: 'idempotency_key_pkey', condition: expect.stringContaining('key = ') });
});

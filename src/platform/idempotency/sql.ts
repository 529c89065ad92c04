import { bigint, bytea, rowsOf, text } from '../db/columns.ts';
import { type Db, exec, many, one, onePlan, sql } from '../db/query.ts';

/** A key as its account chose it. */
export type Key = { readonly accountId: number; readonly key: string };

/** An answer under its key; `requestHash` is the SHA-256 of the request it was given to. */
export type SealedAnswer = Key & { readonly requestHash: Uint8Array; readonly answer: Uint8Array };

/**
 * Stores answers. Fails the transaction (`isKeyTaken`) when one of the keys has an answer already; waits for one that
 * another transaction is storing. It needs no answer of its own, so it fits into a `burst`.
 */
export const insertAnswers = (db: Db, answers: readonly SealedAnswer[]): Promise<number> =>
  exec(
    db,
    onePlan(sql`INSERT INTO idempotency_key (account_id, key, request_hash, answer)
      SELECT * FROM ${answerRows(answers)} AS u ORDER BY u.account_id, u.key`),
  );

/** Stores answers to requests that changed nothing; a key that has an answer keeps it. */
export const insertFreeAnswers = (db: Db, answers: readonly SealedAnswer[]): Promise<number> =>
  exec(
    db,
    onePlan(sql`INSERT INTO idempotency_key (account_id, key, request_hash, answer)
      SELECT * FROM ${answerRows(answers)} AS u ORDER BY u.account_id, u.key
      ON CONFLICT (account_id, key) DO NOTHING`),
  );

const answerRows = (answers: readonly SealedAnswer[]) =>
  rowsOf(answers, {
    account_id: bigint((a) => a.accountId),
    key: text((a) => a.key),
    request_hash: bytea((a) => a.requestHash),
    answer: bytea((a) => a.answer),
  });

/** The key has an answer, or a request that is under way holds it. */
export class KeyTaken extends Error {}

/** Whether this failed since a key was taken: as a `KeyTaken`, or by the primary key at an insert. */
export const isKeyTaken = (error: unknown): boolean =>
  error instanceof KeyTaken ||
  (error instanceof Error &&
    'code' in error &&
    error.code === '23505' &&
    'table' in error &&
    // Citus adds the number of the shard.
    String(error.table).startsWith('idempotency_key'));

/** The answers under these keys, of all accounts: one query for every request that waits at this moment. */
export const listAnswers = (db: Db, keys: readonly Key[]): Promise<(Key & { requestHash: Buffer; answer: Buffer })[]> =>
  many(
    db,
    onePlan(sql`SELECT i.account_id AS "accountId", i.key, i.request_hash AS "requestHash", i.answer
      FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), key: text((k) => k.key) })} AS u,
        LATERAL (SELECT * FROM idempotency_key WHERE account_id = u.account_id AND key = u.key OFFSET 0) AS i`),
  );

/** Which of these keys have an answer. */
export const listTakenKeys = (db: Db, keys: readonly Key[]): Promise<Key[]> =>
  many(
    db,
    sql`SELECT i.account_id AS "accountId", i.key
      FROM idempotency_key i
      JOIN ${rowsOf(keys, { account_id: bigint((k) => k.accountId), key: text((k) => k.key) })} AS u
        ON i.account_id = u.account_id AND i.key = u.key`,
  );

/** Holds the key until the transaction ends; rejects with `KeyTaken` when another request holds it at this moment. */
export async function claimKey(tx: Db, { accountId, key }: Key): Promise<void> {
  const name = `idempotency ${accountId} ${key}`;
  const { free } = await one<{ free: boolean }>(
    tx,
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS free`,
  );
  if (!free) throw new KeyTaken(`another request holds the key ${key}`);
}

/** Forgets up to `limit` answers that are older than 24 hours, the oldest first. */
export const deleteOldAnswers = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM idempotency_key WHERE (account_id, key) IN (
      SELECT account_id, key FROM idempotency_key
      WHERE created_at < now() - interval '24 hours' ORDER BY created_at LIMIT ${limit})`,
  );

import type { Pool } from 'pg';
import { type Task, untilIdle } from './background.ts';
import { type BatchColumns, bigint, bytea, insertRows, once, type RowColumns, rowsOf, text } from './db/columns.ts';
import { as, columns, type Db, exec, many, one, onePlan, type RowOf, sql } from './db/query.ts';
import { groupCommit, inTurn } from './db/transaction.ts';
import { open, type SecretKey, seal } from './secrets.ts';
import { MINUTE_MS } from './time.ts';

/** A response as sent to the client, without the headers that every response has. */
type Answer = {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
  /** Recipient of the response; null in those of older versions. */
  readonly caller: string | null;
};
export type StoredAnswer = Answer & { readonly requestHash: Buffer };
type KeyedRequest = Key & { readonly requestHash: Uint8Array };

/** Stores and finds the responses to requests with an Idempotency-Key (docs/decisions/0009-idempotency.md). */
export type AnswerStore = {
  /** Finds the stored response of a key; concurrent calls share one query. */
  find(key: Key): Promise<StoredAnswer | undefined>;
  /** Encrypts a response for storage. */
  seal(request: KeyedRequest, answer: Answer): SealedAnswer;
  /** Locks the key until the transaction ends; rejects if another request holds it (`isTaken`). */
  claim(tx: Db, key: Key): Promise<void>;
  /**
   * Stores a response in the transaction of its request's work; fails if the key already has a response (`isTaken`).
   */
  store(tx: Db, answer: SealedAnswer): Promise<unknown>;
  /** Returns true if an error means that the key has a response already or is held by another request. */
  isTaken(error: unknown): boolean;
  /** Stores the response to a request that changed nothing; an existing response stays. */
  storeSoon(answer: SealedAnswer): Promise<unknown>;
};

export function createAnswerStore({ pool, secretKey }: { pool: Pool; secretKey: SecretKey }): AnswerStore {
  const find = groupCommit({ flush: (keys: Key[]) => findAnswers(pool, keys), inFlight: 2 });
  // In the account's turn, not in those of others: a key may be held by another request of the account.
  const storeSoon = (answer: SealedAnswer) => inTurn(pool, answer, () => insertFreeAnswers(pool, [answer]));
  return {
    async find(key) {
      const found = await find(key);
      return found && { ...unsealAnswer(secretKey, found), requestHash: found.requestHash };
    },
    seal: ({ accountId, key, requestHash }, answer) => ({
      accountId,
      key,
      requestHash,
      answer: seal(secretKey, serialize(answer), sealContext({ accountId, key })),
    }),
    claim: claimKey,
    store: (tx, answer) => insertAnswers(tx, [answer]),
    isTaken: isKeyTaken,
    storeSoon,
  };
}

const keyName = ({ accountId, key }: Key): string => `${accountId} ${key}`;
const sealContext = (key: Key): string => `idempotency_key.answer ${keyName(key)}`;

async function findAnswers(pool: Db, keys: Key[]) {
  const distinct = new Map(keys.map((key) => [keyName(key), key]));
  const rows = await listAnswers(pool, [...distinct.values()]);
  const found = new Map(rows.map((row) => [keyName(row), row]));
  return keys.map((key) => found.get(keyName(key)));
}

/** Status, content type and caller as one line of JSON, then the body as it was sent. */
const serialize = ({ status, type, body, caller }: Answer): string =>
  `${JSON.stringify([status, type, caller])}\n${body}`;

function unsealAnswer(secretKey: SecretKey, row: Key & { readonly answer: Buffer }): Answer {
  const text = open(secretKey, row.answer, sealContext(row)).toString('utf8');
  const end = text.indexOf('\n');
  const [status, type, caller]: [number, string | null, string | undefined] = JSON.parse(text.slice(0, end));
  return { status, type, body: text.slice(end + 1), caller: caller ?? null };
}

/** Deletes stored responses after 24 hours. */
export const idempotencyTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old responses', work: untilIdle(() => deleteOldAnswers(pool, { limit: 10_000 }), MINUTE_MS) },
];

export type Key = { readonly accountId: number; readonly key: string };

/** An encrypted response with its key; `requestHash` is the SHA-256 of the request. */
export type SealedAnswer = Key & { readonly requestHash: Uint8Array; readonly answer: Uint8Array };

/**
 * Stores responses. Fails the transaction (`isKeyTaken`) if one of the keys already has a response; waits for one that
 * another transaction is storing. It does not depend on results of other statements, so it fits into a `burst`.
 */
export const insertAnswers = (db: Db, answers: readonly SealedAnswer[]): Promise<number> =>
  exec(db, onePlan(insertOf(answers)));

/** Stores responses to requests that changed nothing; a key that already has a response keeps it. */
export const insertFreeAnswers = (db: Db, answers: readonly SealedAnswer[]): Promise<number> =>
  exec(db, onePlan(sql`${insertOf(answers)} ON CONFLICT (account_id, key) DO NOTHING`));

/** Inserts in the order of the keys, so that two batches cannot wait for each other. */
const insertOf = (answers: readonly SealedAnswer[]) =>
  sql`${insertRows('idempotency_key', answers, ANSWER_FIELDS)} ORDER BY account_id, key`;

const ANSWER_FIELDS: RowColumns<SealedAnswer> = once({
  accountId: bigint,
  key: text,
  requestHash: bytea,
  answer: bytea,
});
const KEY_FIELDS: BatchColumns<Key> = once({ account_id: bigint((k) => k.accountId), key: text((k) => k.key) });

/** The key already has a response, or a request in progress holds it. */
export class KeyTaken extends Error {}

/** Returns true if an error means that a key is taken: a `KeyTaken`, or a violation of the primary key. */
export const isKeyTaken = (error: unknown): boolean =>
  error instanceof KeyTaken ||
  (error instanceof Error &&
    'code' in error &&
    error.code === '23505' &&
    'table' in error &&
    error.table === 'idempotency_key');

const STORED_ANSWER = columns({
  accountId: as<number>('i.account_id'),
  key: as<string>('i.key'),
  requestHash: as<Buffer>('i.request_hash'),
  answer: as<Buffer>('i.answer'),
});
export type StoredAnswerRow = RowOf<typeof STORED_ANSWER>;

/** Lists the responses of these keys, of all accounts: one query serves all concurrent requests. */
export const listAnswers = (db: Db, keys: readonly Key[]): Promise<StoredAnswerRow[]> =>
  many(
    db,
    onePlan(sql`SELECT ${STORED_ANSWER}
      FROM ${rowsOf(keys, KEY_FIELDS)} AS u,
        LATERAL (SELECT * FROM idempotency_key WHERE account_id = u.account_id AND key = u.key OFFSET 0) AS i`),
  );

const TAKEN_KEY = columns({ accountId: as<number>('i.account_id'), key: as<string>('i.key') });

export const listTakenKeys = (db: Db, keys: readonly Key[]): Promise<Key[]> =>
  many(
    db,
    sql`SELECT ${TAKEN_KEY}
      FROM idempotency_key i
      JOIN ${rowsOf(keys, KEY_FIELDS)} AS u
        ON i.account_id = u.account_id AND i.key = u.key`,
  );

/** Locks the key until the transaction ends; rejects with `KeyTaken` if another request holds it. */
export async function claimKey(tx: Db, { accountId, key }: Key): Promise<void> {
  const name = `idempotency ${accountId} ${key}`;
  const { free } = await one<{ free: boolean }>(
    tx,
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS free`,
  );
  if (!free) throw new KeyTaken(`another request holds the key ${key}`);
}

/** Deletes up to `limit` responses that are older than 24 hours, the oldest first, and returns their number. */
export const deleteOldAnswers = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM idempotency_key WHERE (account_id, key) IN (
      SELECT account_id, key FROM idempotency_key
      WHERE created_at < now() - interval '24 hours' ORDER BY created_at LIMIT ${limit})`,
  );

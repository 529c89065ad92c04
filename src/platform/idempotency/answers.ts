import type { Pool } from 'pg';
import { groupCommit } from '../db/group-commit.ts';
import type { Db } from '../db/query.ts';
import { inTurn } from '../db/tenant.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import * as db from './sql.ts';

/** A response as sent to the client, without the headers that every response has. */
export type Answer = {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
  /** Recipient of the response; null in those of older versions. */
  readonly caller: string | null;
};
export type StoredAnswer = Answer & { readonly requestHash: Buffer };
export type KeyedRequest = db.Key & { readonly requestHash: Uint8Array };

/** Stores and finds the responses to requests with an Idempotency-Key (docs/decisions/0009-idempotency.md). */
export type AnswerStore = {
  /** Finds the stored response of a key; concurrent calls share one query. */
  find(key: db.Key): Promise<StoredAnswer | undefined>;
  /** Encrypts a response for storage. */
  seal(request: KeyedRequest, answer: Answer): db.SealedAnswer;
  /** Locks the key until the transaction ends; rejects if another request holds it (`isTaken`). */
  claim(tx: Db, key: db.Key): Promise<void>;
  /**
   * Stores a response in the transaction of its request's work; fails if the key already has a response (`isTaken`).
   */
  store(tx: Db, answer: db.SealedAnswer): Promise<unknown>;
  /** Returns true if an error means that the key has a response already or is held by another request. */
  isTaken(error: unknown): boolean;
  /** Stores the response to a request that changed nothing; an existing response stays. */
  storeSoon(answer: db.SealedAnswer): Promise<unknown>;
};

export function createAnswerStore({ pool, secretKey }: { pool: Pool; secretKey: SecretKey }): AnswerStore {
  const find = groupCommit({ flush: (keys: db.Key[]) => findAnswers(pool, keys), inFlight: 2 });
  // In the account's turn, not in those of others: a key may be held by another request of the account.
  const storeSoon = (answer: db.SealedAnswer) => inTurn(pool, answer, () => db.insertFreeAnswers(pool, [answer]));
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
    claim: db.claimKey,
    store: (tx, answer) => db.insertAnswers(tx, [answer]),
    isTaken: db.isKeyTaken,
    storeSoon,
  };
}

const keyName = ({ accountId, key }: db.Key): string => `${accountId} ${key}`;
const sealContext = (key: db.Key): string => `idempotency_key.answer ${keyName(key)}`;

async function findAnswers(pool: Db, keys: db.Key[]) {
  const distinct = new Map(keys.map((key) => [keyName(key), key]));
  const rows = await db.listAnswers(pool, [...distinct.values()]);
  const found = new Map(rows.map((row) => [keyName(row), row]));
  return keys.map((key) => found.get(keyName(key)));
}

/** Status, content type and caller as one line of JSON, then the body as it was sent. */
const serialize = ({ status, type, body, caller }: Answer): string =>
  `${JSON.stringify([status, type, caller])}\n${body}`;

function unsealAnswer(secretKey: SecretKey, row: db.Key & { readonly answer: Buffer }): Answer {
  const text = open(secretKey, row.answer, sealContext(row)).toString('utf8');
  const end = text.indexOf('\n');
  const [status, type, caller]: [number, string | null, string | undefined] = JSON.parse(text.slice(0, end));
  return { status, type, body: text.slice(end + 1), caller: caller ?? null };
}

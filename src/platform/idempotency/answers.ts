import type { Pool } from 'pg';
import { groupCommit } from '../db/group-commit.ts';
import type { Db } from '../db/query.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import * as db from './sql.ts';

/** What a client was sent, without the headers that every answer has. */
export type Answer = { readonly status: number; readonly type: string | null; readonly body: string };
export type StoredAnswer = Answer & { readonly requestHash: Buffer };
export type KeyedRequest = db.Key & { readonly requestHash: Uint8Array };

/** The answers to requests with an Idempotency-Key (docs/decisions/0009-idempotency.md). */
export type Answers = {
  /** What a request with this key was answered; all who ask at this moment are looked up in one query. */
  find(key: db.Key): Promise<StoredAnswer | undefined>;
  /** The answer as it is stored. */
  seal(request: KeyedRequest, answer: Answer): db.SealedAnswer;
  /** Holds the key until the transaction ends; rejects when another request holds it (`isTaken`). */
  claim(tx: Db, key: db.Key): Promise<void>;
  /** Stores an answer in the transaction of the work that it answers for; fails it when the key has one (`isTaken`). */
  keep(tx: Db, answer: db.SealedAnswer): Promise<unknown>;
  isTaken(error: unknown): boolean;
  /** Stores the answer to a request that changed nothing, with others; a key that has an answer keeps it. */
  keepSoon(answer: db.SealedAnswer): Promise<unknown>;
};

export function createAnswers({ pool, secretKey }: { pool: Pool; secretKey: SecretKey }): Answers {
  const find = groupCommit({ flush: (keys: db.Key[]) => findAnswers(pool, keys), inFlight: 2 });
  const keepSoon = groupCommit({ flush: (answers: db.SealedAnswer[]) => keepFree(pool, answers), inFlight: 1 });
  return {
    async find(key) {
      const found = await find(key);
      return found && { ...opened(secretKey, found), requestHash: found.requestHash };
    },
    seal: ({ accountId, key, requestHash }, answer) => ({
      accountId,
      key,
      requestHash,
      answer: seal(secretKey, write(answer), placeOf({ accountId, key })),
    }),
    claim: db.claimKey,
    keep: (tx, answer) => db.insertAnswers(tx, [answer]),
    isTaken: db.isKeyTaken,
    keepSoon,
  };
}

const nameOf = ({ accountId, key }: db.Key): string => `${accountId} ${key}`;
const placeOf = (key: db.Key): string => `idempotency_key.answer ${nameOf(key)}`;

async function findAnswers(pool: Db, keys: db.Key[]) {
  const distinct = new Map(keys.map((key) => [nameOf(key), key]));
  const rows = await db.listAnswers(pool, [...distinct.values()]);
  const found = new Map(rows.map((row) => [nameOf(row), row]));
  return keys.map((key) => found.get(nameOf(key)));
}

async function keepFree(pool: Db, answers: db.SealedAnswer[]): Promise<void[]> {
  // One statement may not meet a key twice.
  const distinct = new Map(answers.map((answer) => [nameOf(answer), answer]));
  await db.insertFreeAnswers(pool, [...distinct.values()]);
  return answers.map(() => undefined);
}

/** One line of JSON, then the body as it was sent. */
const write = ({ status, type, body }: Answer): string => `${JSON.stringify([status, type])}\n${body}`;

function opened(secretKey: SecretKey, row: db.Key & { readonly answer: Buffer }): Answer {
  const text = open(secretKey, row.answer, placeOf(row)).toString('utf8');
  const end = text.indexOf('\n');
  const [status, type]: [number, string | null] = JSON.parse(text.slice(0, end));
  return { status, type, body: text.slice(end + 1) };
}

import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../platform/db/query.ts';
import { insertAnswers, type Key, listTakenKeys, type SealedAnswer } from '../../platform/idempotency/sql.ts';
import type { Verdict } from './draft.ts';

/** The Idempotency-Key of a send, and the response that is stored under it. */
export type IdempotentSend = Key & {
  /**
   * Returns the response to the client, as it is stored; null when it is an error, for which nothing is stored here.
   */
  answerOf(verdict: Verdict): SealedAnswer | null;
};

/**
 * Makes an `IdempotentSend` of a key.
 *
 * @param answer makes the response to the client; throws when the whole request fails
 */
export const idempotentSend = (
  { seal, ...key }: Key & { seal(payload: unknown): SealedAnswer },
  answer: (verdict: Verdict) => unknown,
): IdempotentSend => ({
  ...key,
  answerOf(verdict) {
    try {
      return seal(answer(verdict));
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  },
});

/** A send that may have an Idempotency-Key. */
export type MaybeIdempotent = { readonly idempotency?: IdempotentSend | undefined };

const nameOf = ({ accountId, key }: Key): string => `${accountId} ${key}`;

/**
 * Omits the items whose key occurs earlier in the same batch: of two requests with one key only the first is processed.
 */
export function firstOfEachKey<T extends MaybeIdempotent>(items: readonly T[]): T[] {
  const seen = new Set<string>();
  return items.filter(({ idempotency }) => {
    if (!idempotency) return true;
    const name = nameOf(idempotency);
    return !seen.has(name) && seen.add(name);
  });
}

/** Omits the items whose key has a response by now. */
export async function withoutTakenKeys<T extends MaybeIdempotent>(db: Db, items: readonly T[]): Promise<T[]> {
  const taken = await listTakenKeys(
    db,
    items.flatMap(({ idempotency }) => idempotency ?? []),
  );
  const names = new Set(taken.map(nameOf));
  return items.filter(({ idempotency }) => !idempotency || !names.has(nameOf(idempotency)));
}

/**
 * Stores the responses to these sends in the transaction of their messages, which fails when a key is taken. The
 * statement is sent before this returns, as a `burst` needs it.
 */
export async function storeAnswers(
  tx: Db,
  items: readonly MaybeIdempotent[],
  verdicts: readonly Verdict[],
): Promise<void> {
  const answers = items.flatMap(({ idempotency }, i) => {
    const verdict = verdicts[i];
    return (idempotency && verdict && idempotency.answerOf(verdict)) ?? [];
  });
  if (answers.length > 0) await insertAnswers(tx, answers);
}

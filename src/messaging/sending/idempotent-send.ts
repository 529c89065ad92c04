import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../platform/db/query.ts';
import { insertAnswers, type Key, listTakenKeys, type SealedAnswer } from '../../platform/idempotency/sql.ts';
import type { Verdict } from './draft.ts';

/** A send with an Idempotency-Key. */
export type IdempotentSend = Key & {
  /** What the client is answered, as it is stored; null when that is an error, for which nothing is stored here. */
  answerOf(verdict: Verdict): SealedAnswer | null;
};

/** @param answer what the client is answered on a verdict; throws when that is an error of the whole request */
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

export type MaybeIdempotent = { readonly keyed?: IdempotentSend | undefined };

const nameOf = ({ accountId, key }: Key): string => `${accountId} ${key}`;

/** Without those whose key occurs earlier in the same batch: of two requests with one key only the first is looked at. */
export function firstOfEachKey<T extends MaybeIdempotent>(items: readonly T[]): T[] {
  const seen = new Set<string>();
  return items.filter(({ keyed }) => {
    if (!keyed) return true;
    const name = nameOf(keyed);
    return !seen.has(name) && seen.add(name);
  });
}

/** Without those whose key has an answer by now. */
export async function withoutTakenKeys<T extends MaybeIdempotent>(db: Db, items: readonly T[]): Promise<T[]> {
  const taken = await listTakenKeys(
    db,
    items.flatMap(({ keyed }) => keyed ?? []),
  );
  const names = new Set(taken.map(nameOf));
  return items.filter(({ keyed }) => !keyed || !names.has(nameOf(keyed)));
}

/**
 * Stores what these sends are answered, in the transaction of their messages, which fails when a key is taken. Sent
 * before this returns, as a `burst` wants it.
 */
export async function storeAnswers(
  tx: Db,
  items: readonly MaybeIdempotent[],
  verdicts: readonly Verdict[],
): Promise<void> {
  const answers = items.flatMap(({ keyed }, i) => {
    const verdict = verdicts[i];
    return (keyed && verdict && keyed.answerOf(verdict)) ?? [];
  });
  if (answers.length > 0) await insertAnswers(tx, answers);
}

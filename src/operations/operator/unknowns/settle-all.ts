import type { Pool } from 'pg';
import { settleUnknown, type Verdict } from '../../../messaging/unknown-outcomes/settle.ts';
import { AppError } from '../../../platform/errors.ts';

export type SettleResult = {
  readonly messageId: string;
  readonly settled: boolean;
  /** Reason why the message was not settled. */
  readonly message: string | null;
};

type Settling = {
  readonly messageIds: readonly string[];
  readonly as: Verdict;
  readonly by: string;
  readonly now: Date;
};

/**
 * Settles unknown outcomes one by one, each in its own transaction, so that a rejected one does not affect the others.
 */
export async function settleAll(pool: Pool, { messageIds, as, by, now }: Settling): Promise<SettleResult[]> {
  const results: SettleResult[] = [];
  for (const messageId of new Set(messageIds))
    results.push(
      await settleUnknown(pool, { messageId, as, by }, now).then(
        () => ({ messageId, settled: true, message: null }),
        (error: unknown) => ({ messageId, settled: false, message: refusalOf(error) }),
      ),
    );
  return results;
}

/** Returns the message of a client error. Any other error ends the whole call. */
function refusalOf(error: unknown): string {
  if (error instanceof AppError && error.status < 500) return error.message;
  throw error;
}

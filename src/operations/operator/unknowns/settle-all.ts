import type { Pool } from 'pg';
import { AppError } from '../../../platform/errors.ts';
import { settleUnknown, type Verdict } from '../../../messaging/unknown-outcomes/settle.ts';

export type SettleResult = {
  readonly messageId: string;
  readonly settled: boolean;
  /** Why not. */
  readonly message: string | null;
};

type Settling = {
  readonly messageIds: readonly string[];
  readonly as: Verdict;
  readonly by: string;
  readonly now: Date;
};

/** Settles open unknowns one by one, each in a transaction of its own: one that cannot be does not keep the others. */
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

/** What went wrong otherwise is nobody's to read, and nothing more is tried. */
function refusalOf(error: unknown): string {
  if (error instanceof AppError && error.status < 500) return error.message;
  throw error;
}

import type { Pool } from 'pg';
import { lingerAfter } from '../../platform/lib/background/linger.ts';
import { createSignal, type Signal } from '../../platform/lib/background/signal.ts';
import { always, every, type Task, untilIdle, whenDue } from '../../platform/lib/background/task.ts';
import { HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { deleteOldNameless } from '../unknown-outcomes/sql.ts';
import { processReceipts, retryUnmatched } from './process.ts';
import type { RecentBatches } from './recent.ts';
import { deleteOldUnmatched, findNextUnmatchedMs, RECEIPTS_CHANNEL } from './sql.ts';

export type ReceiptTaskDeps = {
  readonly pool: Pool;
  readonly now: () => Date;
  readonly recent: RecentBatches;
  /** Raised when this process has stored receipts. */
  readonly receiptsStored: Signal;
};

/** A receipt is matched as long as its message may have one (48 h), and parked for seven days more. */
const UNMATCHED_DAYS = 9;

/** Matches receipts with their messages. Woken by what comes in; the waits are for what a dead worker left behind. */
export function receiptTasks({ pool, now, recent, receiptsStored }: ReceiptTaskDeps): Task[] {
  const parked = createSignal();
  return [
    {
      name: 'receipts',
      work: untilIdle(async () => {
        const beganAt = performance.now();
        const count = await processReceipts(pool, now, { recent, onParked: parked.raise });
        if (count > 0) await lingerAfter(count, beganAt);
        return count;
      }, 2 * SECOND_MS),
      wakeOn: { [RECEIPTS_CHANNEL]: always },
      signal: receiptsStored,
    },
    {
      name: 'unmatched receipts',
      work: whenDue(
        () => retryUnmatched(pool, now),
        () => findNextUnmatchedMs(pool),
        10 * SECOND_MS,
      ),
      signal: parked,
    },
    {
      name: 'old receipts',
      work: every(HOUR_MS, async () => {
        await deleteOldUnmatched(pool, UNMATCHED_DAYS);
        await deleteOldNameless(pool, UNMATCHED_DAYS);
      }),
    },
  ];
}

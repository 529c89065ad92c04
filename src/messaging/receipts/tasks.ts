import type { Pool } from 'pg';
import { lingerAfter } from '../../platform/lib/background/linger.ts';
import type { Signal } from '../../platform/lib/background/signal.ts';
import { every, type Task, untilIdle, whenDue } from '../../platform/lib/background/task.ts';
import type { Log } from '../../platform/lib/log.ts';
import { HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { deleteOldNameless } from '../unknown-outcomes/sql.ts';
import { type OnMatched, processReceipts, retryUnmatched } from './process.ts';
import { deleteOldUnmatched, findNextUnmatchedMs, RECEIPTS_CHANNEL } from './sql.ts';

export type ReceiptTaskDeps = {
  readonly pool: Pool;
  readonly now: () => Date;
  readonly log: Log;
  /** Raised when this process has put receipts into the inbox. */
  readonly receiptsStored: Signal;
  /** Raised when this process has parked receipts. */
  readonly receiptsParked: Signal;
  readonly onMatched?: OnMatched | undefined;
};

/**
 * Days to keep parked receipts: a receipt is matched for as long as its message may have one (48 h), and parked for
 * seven days more.
 */
const UNMATCHED_DAYS = 9;

/**
 * Settles the receipts that could not be settled when they arrived. Woken by arrivals; the waits are for rows that a
 * dead worker left behind.
 */
export function receiptTasks({ pool, now, log, receiptsStored, receiptsParked, onMatched }: ReceiptTaskDeps): Task[] {
  const onFailure = (err: unknown): void => log.error({ err }, 'a receipt cannot be processed: it stays parked');
  return [
    {
      name: 'receipts',
      work: untilIdle(async () => {
        const beganAt = performance.now();
        const count = await processReceipts(pool, now, { onParked: receiptsParked.raise, onFailure, onMatched });
        if (count > 0) await lingerAfter(count, beganAt);
        return count;
      }, 2 * SECOND_MS),
      wakeOn: { [RECEIPTS_CHANNEL]: (left) => left !== 'parked' },
      signal: receiptsStored,
    },
    {
      name: 'unmatched receipts',
      work: whenDue(
        () => retryUnmatched(pool, now, { onFailure, onMatched }),
        () => findNextUnmatchedMs(pool),
        10 * SECOND_MS,
      ),
      wakeOn: { [RECEIPTS_CHANNEL]: (left) => left !== 'stored' },
      signal: receiptsParked,
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

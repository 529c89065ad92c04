import type { Pool } from 'pg';
import { type Task, untilIdle } from '../../platform/lib/background/task.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { DAY_MS, HOUR_MS } from '../../platform/lib/time.ts';
import { deleteOldReplacements, deleteOldRequests, deleteUnfetched } from './sql.ts';

/** Time that receipts and inbound messages wait for a receiver that takes them. */
const KEEP_MS = 7 * DAY_MS;
/** Longer than the maximum time ahead of a schedule plus its validity and the wait for its receipt. */
const KEEP_REQUESTS_MS = 400 * DAY_MS;
const LIMIT = 10_000;

/**
 * Deletes deliveries that no receiver has fetched within seven days, and requests for receipts that will never come.
 */
export const smppOutboxTasks = ({ pool, clock }: { readonly pool: Pool; readonly clock: Clock }): Task[] => [
  {
    name: 'old SMPP deliveries',
    work: untilIdle(async () => {
      const now = clock.now().getTime();
      const deleted = await deleteUnfetched(pool, { before: new Date(now - KEEP_MS), limit: LIMIT });
      const beforeId = firstIdAt(new Date(now - KEEP_REQUESTS_MS));
      const old = { beforeId, limit: LIMIT };
      return deleted + (await deleteOldRequests(pool, old)) + (await deleteOldReplacements(pool, old));
    }, HOUR_MS),
  },
];

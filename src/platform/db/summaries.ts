import type { Pool } from 'pg';
import { DAY_MS } from '../lib/time.ts';
import { partitionName } from './partitions.ts';
import { one, sql } from './query.ts';
import { transactionUnlessLocked } from './transaction.ts';

/**
 * Summarises recent writes to the states of today's and yesterday's messages since the last call, so that a search for
 * a rare status skips ranges without it. Such a search reads pages without a summary whole, and receipts pay nothing
 * for them. Does nothing while vacuum is at work on the table, because vacuum summarises too.
 *
 * @returns the number of ranges of pages that were summarised
 */
export async function summariseStates(pool: Pool, now: Date): Promise<number> {
  const days = [now, new Date(now.getTime() - DAY_MS)];
  const indexes = days.map((day) => `${partitionName('message_state', day)}_id_status_idx`);
  const ranges = await transactionUnlessLocked(pool, async (tx) => {
    const row = await one<{ ranges: number }>(
      tx,
      sql`SELECT coalesce(sum(brin_summarize_new_values(to_regclass(name))), 0)::int AS ranges
          FROM unnest(${indexes}::text[]) AS name WHERE to_regclass(name) IS NOT NULL`,
    );
    return row.ranges;
  });
  return ranges ?? 0;
}

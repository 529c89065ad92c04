import type { Pool } from 'pg';
import { every, type Task } from '../lib/background/task.ts';
import { HOUR_MS, SECOND_MS } from '../lib/time.ts';
import { ensurePartitions } from './partitions.ts';
import { createPastDayIndexer } from './past-day-indexes.ts';
import { summariseStates } from './summaries.ts';

/** A search for a rare status reads all pages written since: at 10,000 messages per second 100,000 states, 40 ms. */
const SUMMARY_MS = 10 * SECOND_MS;

/** Creates the partitions of coming days and the indexes of past ones, and summarises recent writes. */
export function partitionTasks({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] {
  const pastDays = createPastDayIndexer(pool);
  return [
    { name: 'partitions', work: every(HOUR_MS, () => ensurePartitions(pool, now())) },
    { name: 'summaries', work: every(SUMMARY_MS, () => summariseStates(pool, now())) },
    { name: 'past days', work: every(HOUR_MS, () => pastDays.work(now())), interrupt: pastDays.stop },
  ];
}

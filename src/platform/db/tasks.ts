import type { Pool } from 'pg';
import { every, type Task } from '../lib/background/task.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/time.ts';
import { ensurePartitions } from './partitions.ts';
import { createPastDayIndexer } from './past-day-indexes.ts';
import { summariseStates } from './summaries.ts';

/** Makes the partitions of coming days and the indexes of past ones, and summarises what was written. */
export function partitionTasks({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] {
  const pastDays = createPastDayIndexer(pool);
  return [
    { name: 'partitions', work: every(HOUR_MS, () => ensurePartitions(pool, now())) },
    { name: 'summaries', work: every(MINUTE_MS, () => summariseStates(pool, now())) },
    { name: 'past days', work: every(HOUR_MS, () => pastDays.work(now())), interrupt: pastDays.stop },
  ];
}

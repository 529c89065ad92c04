import type { Pool } from 'pg';
import { type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { foldTraffic } from './folding/fold.ts';

/** Folds the figures of past hours into days. */
export const trafficTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  { name: 'traffic', work: untilIdle(() => foldTraffic(pool, now), 10 * MINUTE_MS) },
];

import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { updateObservedSchedules } from './sql.ts';

/** Records which scheduled messages were seen on time, so that missed ones are found after an outage. */
export const scheduleTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'schedules', pausable: true, work: every(MINUTE_MS, () => updateObservedSchedules(pool)) },
];

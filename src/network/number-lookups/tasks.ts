import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { deleteOldKnown } from './sql.ts';

/** Deletes expired networks of numbers. */
export const lookupTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'networks of numbers', work: every(HOUR_MS, () => deleteOldKnown(pool)) },
];

import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { deleteExpiredStates } from './sql.ts';

/** Deletes sign-ins that were begun and not finished in time. */
export const singleSignOnTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'expired sign-ons', work: every(10 * MINUTE_MS, () => deleteExpiredStates(pool)) },
];

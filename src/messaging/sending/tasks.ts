import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { deleteOldBulkRequests } from './bulk/sql.ts';

/** Deletes the responses to bulk requests after 24 hours. */
export const sendingTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old bulk requests', work: every(HOUR_MS, () => deleteOldBulkRequests(pool)) },
];

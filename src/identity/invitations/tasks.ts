import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { deleteOldInvitations } from './sql.ts';

/** Deletes invitations that expired a month ago. */
export const invitationTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old invitations', work: every(HOUR_MS, () => deleteOldInvitations(pool)) },
];

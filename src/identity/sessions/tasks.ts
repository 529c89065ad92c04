import type { Pool } from 'pg';
import { type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { deleteEndedPendingSignIns, deleteEndedSessions } from './sql.ts';

/** Deletes sessions that have ended, and sign-ins that were not completed. */
export const sessionTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'ended sessions', work: untilIdle(() => deleteEndedSessions(pool, { limit: 10_000 }), HOUR_MS) },
  {
    name: 'ended sign-ins',
    work: untilIdle(() => deleteEndedPendingSignIns(pool, { limit: 10_000 }), HOUR_MS),
  },
];

import type { Pool } from 'pg';
import { type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { deleteOldChallenges } from './sql.ts';

/** Deletes expired challenges to passkeys. */
export const secondFactorTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old passkey challenges', work: untilIdle(() => deleteOldChallenges(pool, { limit: 10_000 }), HOUR_MS) },
];

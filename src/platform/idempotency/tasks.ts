import type { Pool } from 'pg';
import { type Task, untilIdle } from '../lib/background/task.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { deleteOldAnswers } from './sql.ts';

/** Deletes stored responses after 24 hours. */
export const idempotencyTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old answers', work: untilIdle(() => deleteOldAnswers(pool, { limit: 10_000 }), MINUTE_MS) },
];

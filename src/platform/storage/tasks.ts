import type { Pool } from 'pg';
import { type Task, untilIdle } from '../lib/background/task.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { removeDueFiles } from './removals.ts';
import type { Storage } from './storage.ts';

/** Deletes files of the store that are no longer referenced. */
export const storageTasks = ({ pool, storage }: { readonly pool: Pool; readonly storage: Storage }): Task[] => [
  {
    name: 'file removals',
    work: untilIdle(() => removeDueFiles(pool, storage), MINUTE_MS),
    maxRetryMs: 10 * MINUTE_MS,
  },
];

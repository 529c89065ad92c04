import { hostname } from 'node:os';
import type { Db } from '../../platform/db/query.ts';
import type { LastRun } from '../../platform/lib/loop.ts';
import { insertWorker } from './sql.ts';

/** A task of a worker and how its last run went. */
export type TaskState = { readonly name: string; readonly last: LastRun };

/** Records that this process works, and how the last run of each of its tasks went. */
export const reportWorker = (
  db: Db,
  { owner, states }: { readonly owner: number; readonly states: readonly TaskState[] },
): Promise<void> =>
  insertWorker(db, {
    owner,
    host: hostname(),
    pid: process.pid,
    tasks: states.map(({ name, last: { ranAt, error } }) => ({ name, ranAt: ranAt?.toISOString() ?? null, error })),
  });

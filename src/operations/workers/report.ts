import { hostname } from 'node:os';
import type { Db } from '../../platform/db/query.ts';
import type { Loop } from '../../platform/lib/loop.ts';
import { insertWorker } from './sql.ts';

/** Writes down that this process works, and how its tasks fare. */
export const reportWorker = (
  db: Db,
  { owner, loops }: { readonly owner: number; readonly loops: Readonly<Record<string, Loop>> },
): Promise<void> =>
  insertWorker(db, {
    owner,
    host: hostname(),
    pid: process.pid,
    tasks: Object.entries(loops).map(([name, loop]) => {
      const { ranAt, error } = loop.last();
      return { name, ranAt: ranAt?.toISOString() ?? null, error };
    }),
  });

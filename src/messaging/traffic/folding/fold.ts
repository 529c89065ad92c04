import type { Pool } from 'pg';
import { foldHours, listUnfolded } from './sql.ts';

/** Receipts come within minutes: by then nearly all of an hour is known. What comes later is folded later. */
const OPEN_MS = 2 * 3_600_000;
const LIMIT = 10_000;

/**
 * Folds the hourly roll-ups of past hours (db/migrations/0026_traffic_day.sql), a batch of each account that has any.
 * No sum changes by it. Answers how many rows were folded: 0 when there is nothing left to do. Several workers may.
 */
export async function foldTraffic(pool: Pool, now: () => Date): Promise<number> {
  const before = new Date(now().getTime() - OPEN_MS);
  let folded = 0;
  for (const accountId of await listUnfolded(pool, { before }))
    folded += await foldHours(pool, { accountId, before, limit: LIMIT });
  return folded;
}

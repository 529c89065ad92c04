import type { Pool } from 'pg';
import { HOUR_MS } from '../../../platform/lib/time.ts';
import { foldHours, listUnfolded } from './sql.ts';

/**
 * Age after which an hour is folded: receipts arrive within minutes, so nearly all of an hour is known by then. Later
 * figures are folded later.
 */
const OPEN_MS = 2 * HOUR_MS;
const ROWS_PER_BATCH = 10_000;

/**
 * Folds the figures of past hours, one batch for each account that has any. No sum
 * changes. Several workers may fold at the same time. Returns how many rows were folded; 0 when there was nothing to
 * do.
 */
export async function foldTraffic(pool: Pool, now: () => Date): Promise<number> {
  const before = new Date(now().getTime() - OPEN_MS);
  let folded = 0;
  for (const accountId of await listUnfolded(pool, { before }))
    folded += await foldHours(pool, { accountId, before, limit: ROWS_PER_BATCH });
  return folded;
}

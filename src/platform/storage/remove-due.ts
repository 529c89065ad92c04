import type { Pool } from 'pg';
import { transaction } from '../db/transaction.ts';
import { claimRemovals } from './sql.ts';
import type { Storage } from './storage.ts';

/** The transaction is held while they are deleted. */
const FILES_A_TURN = 20;

/**
 * Deletes files whose rows are gone, or never came, and answers how many. A store that fails keeps their entries: they are
 * tried again.
 */
export const removeDueFiles = (pool: Pool, storage: Pick<Storage, 'delete'>): Promise<number> =>
  transaction(pool, async (tx) => {
    const removals = await claimRemovals(tx, { limit: FILES_A_TURN });
    await Promise.all(removals.map(({ key }) => storage.delete(key)));
    return removals.length;
  });

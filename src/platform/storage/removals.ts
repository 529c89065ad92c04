import type { Pool } from 'pg';
import type { Db } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { claimRemovals, deleteRemovals } from './sql.ts';
import type { Storage } from './storage.ts';

/**
 * Cancels the scheduled removal of files, so that they stay. Call it in the transaction that commits the row that
 * refers to them. Throws, so that nothing is committed, if one of them has been deleted already.
 */
export async function cancelRemovals(tx: Db, files: { accountId: number; keys: readonly string[] }): Promise<void> {
  if ((await deleteRemovals(tx, files)) < files.keys.length)
    throw new Error('the files took too long and were removed');
}

/** The transaction stays open while the files are deleted. */
const FILES_PER_RUN = 20;

/**
 * Deletes the files whose removal is due (their row is gone or never came) and returns how many it deleted. If the
 * store fails, the entries stay and are retried.
 */
export const removeDueFiles = (pool: Pool, storage: Pick<Storage, 'delete'>): Promise<number> =>
  transaction(pool, async (tx) => {
    const removals = await claimRemovals(tx, { limit: FILES_PER_RUN });
    await Promise.all(removals.map(({ key }) => storage.delete(key)));
    return removals.length;
  });

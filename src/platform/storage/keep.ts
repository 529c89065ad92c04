import type { Db } from '../db/query.ts';
import { deleteRemovals } from './sql.ts';

/**
 * In the transaction that commits the row of these files: they stay. Throws, so that nothing is committed, when they have
 * been deleted meanwhile.
 */
export async function keepFiles(tx: Db, files: { accountId: number; keys: readonly string[] }): Promise<void> {
  if ((await deleteRemovals(tx, files)) < files.keys.length)
    throw new Error('the files took too long and were removed');
}

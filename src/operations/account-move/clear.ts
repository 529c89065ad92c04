import type { Db } from '../../platform/db/query.ts';
import { deleteRows } from './rows.ts';
import { deleteParcels, deleteSignIns, endActing, isServed } from './sql.ts';
import { CARRIED, COPIED } from './tables.ts';

/**
 * Deletes all rows of an account, in the caller's transaction: what an earlier attempt has copied, or what stayed behind when
 * the account left. Throws, and deletes nothing, where the account is served.
 */
export async function clearAccount(tx: Db, accountId: number): Promise<void> {
  if (await isServed(tx, { accountId })) throw new Error(`The account ${accountId} is served here.`);
  await deleteParcels(tx, { accountId });
  await endActing(tx, { accountId });
  await deleteSignIns(tx, { accountId });
  const tables = { ...COPIED, ...CARRIED };
  for (const [table, rows] of Object.entries(tables).toReversed()) await deleteRows(tx, { table, rows, accountId });
}

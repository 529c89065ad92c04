import type { Db } from '../../platform/db/query.ts';
import { deleteRows } from './rows.ts';
import { deleteParcels, deleteSignIns, endActing, isServed } from './sql.ts';
import { CARRIED, COPIED } from './tables.ts';

/**
 * Deletes all rows of an account, in the caller's transaction: what an earlier attempt has copied, or what stayed behind when
 * the account left. With `keepsAhead`, keeps what was copied ahead. Throws, and deletes nothing, where the account is served.
 */
export async function clearAccount(
  tx: Db,
  { accountId, keepsAhead = false }: { accountId: number; keepsAhead?: boolean },
): Promise<void> {
  if (await isServed(tx, { accountId })) throw new Error(`The account ${accountId} is served here.`);
  await deleteParcels(tx, { accountId });
  await endActing(tx, { accountId });
  await deleteSignIns(tx, { accountId });
  const tables = { ...COPIED, ...CARRIED };
  for (const [table, rows] of Object.entries(tables).toReversed())
    if (!(keepsAhead && rows.ahead)) await deleteRows(tx, { table, rows, accountId });
}

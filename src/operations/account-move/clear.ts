import type { Db } from '../../platform/db/query.ts';
import { deleteRows } from './rows.ts';
import { deleteParcels, deleteSignIns, endActing, isServed } from './sql.ts';
import { CARRIED, COPIED, type OwnRows } from './tables.ts';

type Account = { readonly accountId: number };

/**
 * Deletes all rows of an account, in the caller's transaction: what an earlier attempt has copied, or what stayed behind when
 * the account left. With `keepsAhead`, keeps what was copied ahead. Throws, and deletes nothing, where the account is served.
 */
export async function clearAccount(
  tx: Db,
  { accountId, keepsAhead = false }: Account & { keepsAhead?: boolean },
): Promise<void> {
  await refuseServed(tx, accountId);
  await deleteParcels(tx, { accountId });
  await endActing(tx, { accountId });
  await deleteSignIns(tx, { accountId });
  await clearTables(tx, accountId, ({ ahead }) => !(keepsAhead && ahead));
}

/** As `clearAccount`, but deletes only what is copied ahead. */
export async function clearAhead(tx: Db, { accountId }: Account): Promise<void> {
  await refuseServed(tx, accountId);
  await clearTables(tx, accountId, ({ ahead = false }) => ahead);
}

async function refuseServed(tx: Db, accountId: number): Promise<void> {
  if (await isServed(tx, { accountId })) throw new Error(`The account ${accountId} is served here.`);
}

async function clearTables(tx: Db, accountId: number, isCleared: (rows: OwnRows) => boolean): Promise<void> {
  for (const [table, rows] of Object.entries({ ...COPIED, ...CARRIED }).toReversed())
    if (isCleared(rows)) await deleteRows(tx, { table, rows, accountId });
}

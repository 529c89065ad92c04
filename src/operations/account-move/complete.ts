import type { Pool } from 'pg';
import { notifyRoutingChange } from '../../network/connections/sql.ts';
import { wakeAccount } from '../../network/dispatch/parked/sql.ts';
import { WEBHOOKS_CHANNEL } from '../../messaging/webhooks/outbox/sql.ts';
import { type Db, exec, sql } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { moveAccount } from '../directory/sql.ts';
import { putRows } from './rows.ts';
import { deleteMove, deleteParcels, findMove, isServed, updateArrived } from './sql.ts';
import { CARRIED } from './tables.ts';

/** The two cells of a move, and the directory in front of them if there is one. */
export type Ends = { readonly source: Pool; readonly target: Pool; readonly directory: Pool | null };

/**
 * Has an account that has left its source served in its target: puts its work into the queues there, and sends its requests
 * there. Any number of processes may do this at the same time, and again after a failure at any place. Throws when the target
 * has lost the copy: the rows in the source are then the only ones.
 */
export async function completeMove(
  ends: Ends,
  { accountId, cell }: { accountId: number; cell: number },
): Promise<void> {
  await transaction(ends.target, (tx) => beginService(tx, accountId));
  if (!(await isKnown(ends.target, { accountId })))
    throw new Error(`Cell ${cell} does not have the account ${accountId}, which has left for it: was it restored?`);
  // Not when it has moved on since.
  if (ends.directory && (await isServed(ends.target, { accountId })))
    await moveAccount(ends.directory, { accountId, cell });
  await updateArrived(ends.source, { accountId });
}

/** Whether a cell has an account, or had it until it moved on. */
export const isKnown = async (db: Db, account: { accountId: number }): Promise<boolean> =>
  (await isServed(db, account)) || (await findMove(db, account))?.state === 'left';

async function beginService(tx: Db, accountId: number): Promise<void> {
  if ((await deleteMove(tx, { accountId, states: ['arriving'] })) === 0) return;
  for (const { table, rows: texts } of await deleteParcels(tx, { accountId })) {
    const rows = CARRIED[table];
    if (rows === undefined) throw new Error(`a parcel for the unknown table ${table}`);
    await putRows(tx, { table, rows, texts });
  }
  await wakeAccount(tx, { accountId });
  await notifyRoutingChange(tx);
  await exec(tx, sql`SELECT pg_notify(${WEBHOOKS_CHANNEL}, '')`);
}

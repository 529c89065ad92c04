import type { Pool } from 'pg';
import { notifyRoutingChange } from '../../network/connections/sql.ts';
import { wakeAccount } from '../../network/dispatch/parked/sql.ts';
import { WEBHOOKS_CHANNEL } from '../../messaging/webhooks/outbox/sql.ts';
import { type Db, exec, sql } from '../../platform/db/query.ts';
import { setStatementTimeoutMinutes, transaction } from '../../platform/db/transaction.ts';
import { lockAccountCell, moveAccount } from '../directory/sql.ts';
import { putRows } from './rows.ts';
import {
  deleteMove,
  deleteParcels,
  findMove,
  findMoveForUpdate,
  isServed,
  listParcelTables,
  type Move,
  updateArrived,
} from './sql.ts';
import { CARRIED } from './tables.ts';

/** The two cells of a move, and the directory in front of them if there is one. */
export type Ends = { readonly source: Pool; readonly target: Pool; readonly directory: Pool | null };

/**
 * Has an account that has left its source served in its target: puts its work into the queues there, and sends its requests
 * there. Any number of processes may do this at the same time, and again after a failure at any place. Throws when the target
 * has lost the copy: the rows in the source are then the only ones; and, with the account served, when there is a directory
 * that the caller's settings do not name.
 */
export async function completeMove(
  ends: Ends,
  { accountId, cell, hasDirectory }: Pick<Move, 'accountId' | 'cell' | 'hasDirectory'>,
): Promise<void> {
  await transaction(ends.target, (tx) => beginService(tx, accountId));
  if (!(await isKnown(ends.target, { accountId })))
    throw new Error(`Cell ${cell} does not have the account ${accountId}, which has left for it: was it restored?`);
  if (ends.directory) await tellDirectory(ends.directory, ends.target, { accountId, cell });
  else if (hasDirectory)
    throw new Error(
      `The account ${accountId} is served in cell ${cell}, and the directory sends its requests here: set DIRECTORY_URL.`,
    );
  await updateArrived(ends.source, { accountId });
}

/**
 * Sends the requests of an account to a cell, unless it has moved on since. A process that stands still after it has asked
 * keeps the others waiting until PostgreSQL ends its session, and then changes nothing: so it cannot undo a later move.
 */
const tellDirectory = (
  directory: Pool,
  target: Pool,
  { accountId, cell }: { accountId: number; cell: number },
): Promise<void> =>
  transaction(directory, async (tx) => {
    await lockAccountCell(tx, { accountId });
    if (await isServed(target, { accountId })) await moveAccount(tx, { accountId, cell });
  });

/** Whether a cell has an account, or had it until it moved on. */
export const isKnown = async (db: Db, account: { accountId: number }): Promise<boolean> =>
  (await isServed(db, account)) || (await findMove(db, account))?.state === 'left';

/** Puts the work of an account into the queues, and ends the mark. Nothing when it is served already, or not all here. */
async function beginService(tx: Db, accountId: number): Promise<void> {
  const mark = await findMoveForUpdate(tx, { accountId });
  if (mark?.state !== 'arriving' || !mark.isComplete) return;
  await setStatementTimeoutMinutes(tx, 60);
  for (const table of await listParcelTables(tx, { accountId })) {
    const rows = CARRIED[table];
    if (rows === undefined) throw new Error(`a parcel for the unknown table ${table}`);
    await putRows(tx, { table, rows, accountId });
  }
  await deleteParcels(tx, { accountId });
  await deleteMove(tx, { accountId, states: ['arriving'] });
  await wakeAccount(tx, { accountId });
  await notifyRoutingChange(tx);
  await exec(tx, sql`SELECT pg_notify(${WEBHOOKS_CHANNEL}, '')`);
}

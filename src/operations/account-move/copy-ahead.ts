import type { Client } from 'pg';
import { type Between, betweenCells } from './between.ts';
import { clearAhead } from './clear.ts';
import { compareRows } from './compare.ts';
import {
  type ConnectionIds,
  copyChanges,
  copyRows,
  countRows,
  deleteMissing,
  findOldestTransaction,
  type Reading,
} from './rows.ts';
import { markArriving } from './sql.ts';
import { COPIED } from './tables.ts';

const AHEAD = Object.entries(COPIED).filter(([, { ahead }]) => ahead);

/** A cell may be idle while the other one deletes, counts or writes millions of rows. */
const PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '1h'";

/**
 * Copies the rows of an account of which there may be many to the target, in place of those that an earlier stay or attempt
 * has left there, while it is served in the source. Returns the oldest transaction that was in progress then: what older ones
 * wrote is in the target (`bringUpToDate`).
 *
 * Nothing else of what the account has left in the target is touched, and nothing at all before the copy is committed: until
 * then the target knows whose the receipts and inbound messages are that its carriers still send, and passes them on.
 */
export const copyAhead = (move: Between): Promise<string> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    await clearAhead(target, { accountId });
    const since = await findOldestTransaction(source);
    await markArriving(target, { accountId, cell: move.source.number, isComplete: false });
    for (const [table, rows] of AHEAD) {
      const reading = { table, rows, accountId };
      await copyRows(source, target, reading, ids);
      await compareRows(source, target, reading);
    }
    return since;
  });

/**
 * Brings the copy that `copyAhead` has made up to date, while the account is still served: the first copy may have taken an
 * hour, and what has changed in it need not be copied while the account is held. Returns what `copyAhead` does.
 */
export const catchUp = (move: Between & { readonly since: string }): Promise<string> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids, since } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    const next = await findOldestTransaction(source);
    for (const [table, rows] of AHEAD) await bringUpToDate(source, target, { table, rows, accountId, since }, ids);
    return next;
  });

/**
 * Brings a table that was copied ahead up to date, and returns the number of its rows. Where rows were deleted in the source
 * meanwhile, their keys are compared, and then those of all rows.
 */
export async function bringUpToDate(
  source: Client,
  target: Client,
  reading: Reading & { readonly since: string },
  ids: ConnectionIds,
): Promise<number> {
  await target.query('SAVEPOINT changes');
  try {
    await copyChanges(source, target, reading, ids);
    const [here, there] = await Promise.all([countRows(source, reading), countRows(target, reading)]);
    // The copy lacks nothing of the source, so with the same number it has the same rows.
    if (here === there) return here;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  await target.query('ROLLBACK TO changes');
  await deleteMissing(source, target, reading, ids);
  await copyChanges(source, target, reading, ids);
  return compareRows(source, target, reading);
}

/** A row that was deleted and one that is new are the same to an index, such as two contacts with one number. */
const isDuplicate = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23505';

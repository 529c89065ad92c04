import type { Client } from 'pg';
import { type Between, betweenCells } from './between.ts';
import { compareRows } from './compare.ts';
import {
  type ConnectionIds,
  copyChanges,
  copyRows,
  countRows,
  deleteRows,
  findOldestTransaction,
  type Reading,
} from './rows.ts';
import { markArriving } from './sql.ts';
import { COPIED } from './tables.ts';

/**
 * Copies the rows of an account of which there may be many to the target, where it must have none, while it is served in the
 * source. Returns the oldest transaction that was in progress then: what older ones wrote is in the target
 * (`bringUpToDate`).
 */
export const copyAhead = (move: Between): Promise<string> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids } = move;
    const since = await findOldestTransaction(source);
    await markArriving(target, { accountId, cell: move.source.number });
    for (const [table, rows] of Object.entries(COPIED).filter(([, { ahead }]) => ahead)) {
      const reading = { table, rows, accountId };
      await copyRows(source, target, reading, ids);
      await compareRows(source, target, reading);
    }
    return since;
  });

/**
 * Brings a table that was copied ahead up to date, and returns the number of its rows. When rows were deleted in the source
 * meanwhile, the table is copied anew.
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
    if (here === there) return here;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    await target.query('ROLLBACK TO changes');
  }
  await deleteRows(target, reading);
  await copyRows(source, target, reading, ids);
  return compareRows(source, target, reading);
}

/** A row that was deleted and one that is new are the same to an index, such as two contacts with one number. */
const isDuplicate = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23505';

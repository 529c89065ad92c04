import type { Client } from 'pg';
import { type Between, betweenCells } from './between.ts';
import { copyChanges } from './changes/copy.ts';
import { deleteChanges, type Notes } from './changes/sql.ts';
import { clearAhead } from './clear.ts';
import { compareLedger, compareRows, isSame } from './compare.ts';
import { copyRows, deleteRows } from './rows.ts';
import { checkCopy, markArriving } from './sql.ts';
import { AHEAD } from './tables.ts';

/** A cell may be idle while the other one deletes, counts or writes millions of rows. */
const PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '1h'";

/**
 * A copy that is in the target, and what notes the changes in the source since. `copy` is the time of the transaction that wrote
 * it last: a target that was restored, has failed over to a standby without it, or has removed it, knows another time, or none.
 */
export type CopiedAhead = { readonly notes: Notes; readonly copy: string };

/** How many rows a step has copied, and the copy that the next step has to find. */
export type Copied = { readonly copied: number; readonly copy: string };

/**
 * Copies the rows of an account of which there may be many to the target, in place of those that an earlier stay or attempt
 * has left there, while it is served in the source. Its changes must be noted (`beginNotes`).
 *
 * Nothing else of what the account has left in the target is touched, and nothing at all before the copy is committed: until
 * then the target knows whose the receipts and inbound messages are that its carriers still send, and passes them on.
 */
export const copyAhead = (move: Between): Promise<Copied> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    await clearAhead(target, { accountId });
    const copy = await markArriving(target, { accountId, cell: move.source.number, isComplete: false });
    let copied = 0;
    for (const [table, rows] of AHEAD) {
      const reading = { table, rows, accountId };
      await copyRows(source, target, reading, ids);
      copied += await compareRows(source, target, reading);
    }
    return { copied, copy };
  });

/**
 * Brings the copy that `copyAhead` has made up to date, while the account is still served: what has changed since need not be
 * copied while it is held.
 */
export const catchUp = (move: Between & CopiedAhead): Promise<Copied> => bringUpToDate(move, () => Promise.resolve(0));

/**
 * As `catchUp`, and then compares all rows of the copy, and the sums of the ledger. A table that differs is copied again, and
 * `onDifference` told its name: in the source, a day that is too old may have been dropped meanwhile, and in the target, rows of
 * the copy that are too old.
 */
export const catchUpAndCompare = (
  move: Between & CopiedAhead & { readonly onDifference: (table: string) => void },
): Promise<Copied> =>
  bringUpToDate(move, async (source, target) => {
    const { accountId, ids } = move;
    let copied = 0;
    for (const [table, rows] of AHEAD) {
      const reading = { table, rows, accountId };
      if (await isSame(source, target, reading)) continue;
      move.onDifference(table);
      await deleteRows(target, reading);
      await copyRows(source, target, reading, ids);
      copied += await compareRows(source, target, reading);
    }
    await compareLedger(source, target, accountId);
    return copied;
  });

/** Copies what was noted, and has `andThen` copy more, as of the same moment. */
const bringUpToDate = (
  move: Between & CopiedAhead,
  andThen: (source: Client, target: Client) => Promise<number>,
): Promise<Copied> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids, notes } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    await checkCopy(target, move);
    let copied = 0;
    for (const [table, rows] of AHEAD)
      copied += await copyChanges(source, target, { table, rows, accountId, run: notes.run }, ids);
    copied += await andThen(source, target);
    await deleteChanges(source, notes);
    return { copied, copy: await markArriving(target, { accountId, cell: move.source.number, isComplete: false }) };
  });

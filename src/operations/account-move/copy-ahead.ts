import { type Between, betweenCells } from './between.ts';
import { copyChanges } from './changes/copy.ts';
import { deleteChanges } from './changes/sql.ts';
import { clearAhead } from './clear.ts';
import { compareLedger, compareRows } from './compare.ts';
import { copyRows } from './rows.ts';
import { markArriving } from './sql.ts';
import { AHEAD } from './tables.ts';

/** A cell may be idle while the other one deletes, counts or writes millions of rows. */
const PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '1h'";

/**
 * Copies the rows of an account of which there may be many to the target, in place of those that an earlier stay or attempt
 * has left there, while it is served in the source. Returns their number. Its changes must be noted (`beginNotes`).
 *
 * Nothing else of what the account has left in the target is touched, and nothing at all before the copy is committed: until
 * then the target knows whose the receipts and inbound messages are that its carriers still send, and passes them on.
 */
export const copyAhead = (move: Between): Promise<number> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    await clearAhead(target, { accountId });
    await markArriving(target, { accountId, cell: move.source.number, isComplete: false });
    let copied = 0;
    for (const [table, rows] of AHEAD) {
      const reading = { table, rows, accountId };
      await copyRows(source, target, reading, ids);
      copied += await compareRows(source, target, reading);
    }
    return copied;
  });

/**
 * Brings the copy that `copyAhead` has made up to date, while the account is still served: what has changed since need not be
 * copied while it is held. Returns the number of rows copied.
 *
 * @param comparesAll whether to read all rows then, and to compare them and the sums of the ledger
 */
export const catchUp = (move: Between & { readonly comparesAll: boolean }): Promise<number> =>
  betweenCells(move, async (source, target) => {
    const { accountId, ids, comparesAll } = move;
    await source.query(PATIENCE);
    await target.query(PATIENCE);
    let copied = 0;
    for (const [table, rows] of AHEAD) {
      const reading = { table, rows, accountId };
      copied += await copyChanges(source, target, reading, ids);
      if (comparesAll) await compareRows(source, target, reading);
    }
    if (comparesAll) await compareLedger(source, target, accountId);
    await deleteChanges(source, { accountId });
    return copied;
  });

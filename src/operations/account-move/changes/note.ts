import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { transaction, transactionUnlessLocked } from '../../../platform/db/transaction.ts';
import { listKeyOfRows } from '../rows.ts';
import { tryMoveLockOfTransaction } from '../sql.ts';
import { AHEAD } from '../tables.ts';
import {
  createTriggers,
  deleteChanges,
  dropTrigger,
  hasRows,
  listLeaves,
  listNotedAccounts,
  listTriggers,
  listUnnoted,
  type Notes,
  TRIGGER_PREFIX,
} from './sql.ts';

const TABLES = AHEAD.map(([table]) => table);

/** An automatic vacuum keeps its table for minutes, and is not to be ended for this. */
const MAX_WAIT_MS = 600_000;
const RETRY_MS = 500;

/**
 * Has each change of the rows of an account that are copied ahead noted from now on (`account_change`), until `endNotes`. What
 * was changed before is committed then, because the triggers wait for all who write to their table: a copy that begins
 * afterwards sees it. Other accounts pay for a comparison a row.
 *
 * Each partition has its own triggers, and its own transaction: whoever writes to it waits for no other one, and for 200 ms at
 * most. Rejects after ten minutes in which a table was in use.
 */
export async function beginNotes(source: Pool, { accountId }: { accountId: number }): Promise<Notes> {
  // What a run that was killed has left would only note the same again.
  await endNotes(source, { accountId });
  const notes = { accountId, name: `${TRIGGER_PREFIX}${accountId}_${randomBytes(4).toString('hex')}` };
  const keys = new Map<string, Awaited<ReturnType<typeof listKeyOfRows>>>();
  for (const table of TABLES) keys.set(table, await listKeyOfRows(source, table));
  const deadline = performance.now() + MAX_WAIT_MS;
  for (const { table, leaf } of await listLeaves(source, { tables: TABLES })) {
    const key = keys.get(table) ?? [];
    while ((await transactionUnlessLocked(source, (tx) => createTriggers(tx, notes, { table, leaf, key }))) === null) {
      if (performance.now() > deadline)
        throw new Error(`The table ${leaf} has been in use for too long: see pg_stat_activity. Try again later.`);
      await delay(RETRY_MS);
    }
  }
  return notes;
}

/**
 * Throws when a change may not have been noted since `beginNotes`. To be asked when nothing writes for the account any more. A
 * partition that is younger than the triggers has none of them, and must have none of its rows.
 */
export async function checkNotes(source: Db, notes: Notes): Promise<void> {
  for (const leaf of await listUnnoted(source, notes, { tables: TABLES }))
    if (await hasRows(source, notes, leaf))
      throw new Error(`The changes of the table ${leaf} are not noted any more: begin the move anew.`);
}

/**
 * Ends the notes of an account, and deletes them. Returns false when a trigger remains, because others read or write its table
 * for a long time: to be repeated.
 */
export async function endNotes(source: Pool, { accountId }: { accountId: number }): Promise<boolean> {
  for (const trigger of await listTriggers(source, { accountId }))
    if ((await transactionUnlessLocked(source, (tx) => dropTrigger(tx, trigger))) === null) return false;
  await deleteChanges(source, { accountId });
  return true;
}

/** Ends what commands have left that were killed, or could not end it. */
export async function endAbandonedNotes(pool: Pool): Promise<void> {
  const triggers = await listTriggers(pool, { accountId: null });
  const accountIds = new Set([...triggers.map(({ accountId }) => accountId), ...(await listNotedAccounts(pool))]);
  for (const accountId of accountIds)
    await transaction(pool, async (tx) => {
      if (await tryMoveLockOfTransaction(tx, { accountId })) await endNotes(pool, { accountId });
    });
}

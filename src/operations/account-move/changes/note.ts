import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { setStatementTimeoutMinutes, transaction, transactionUnlessLocked } from '../../../platform/db/transaction.ts';
import { listKeyOfRows } from '../rows.ts';
import { tryMoveLockOfTransaction } from '../sql.ts';
import { AHEAD } from '../tables.ts';
import {
  createTriggers,
  deleteChanges,
  dropTriggers,
  hasRows,
  listLeaves,
  listNotedAccounts,
  listTriggers,
  type Notes,
  runsOf,
} from './sql.ts';

const TABLES = AHEAD.map(([table]) => table);

/** An automatic vacuum keeps its table for minutes, and is not to be ended for this. */
const MAX_WAIT_MS = 600_000;
const RETRY_MS = 500;
/** During each attempt of 200 ms, those who write to the table wait. */
const MAX_RETRY_MS = 10_000;

/**
 * Has each change of the rows of an account that are copied ahead noted from now on (`account_change`), until `endNotes`. What
 * was changed before is committed then, because a trigger is created only when nobody else writes to its table: a copy that
 * begins afterwards sees it. A row of another account costs one comparison more.
 *
 * Each partition has its own triggers, created in a transaction of its own. Rejects when somebody else keeps one of them for
 * ten minutes, such as the copy of another account that arrives here.
 */
export async function beginNotes(source: Pool, { accountId }: { accountId: number }): Promise<Notes> {
  await endNotes(source, { accountId, run: runsOf(accountId) });
  const notes = { accountId, run: `${runsOf(accountId)}${randomBytes(4).toString('hex')}` };
  const keys = new Map(
    await Promise.all(TABLES.map(async (table) => [table, await listKeyOfRows(source, table)] as const)),
  );
  for (const leaf of await listLeaves(source, { tables: TABLES }))
    await untilCreated(leaf.leaf, () =>
      transactionUnlessLocked(source, (tx) => createTriggers(tx, notes, leaf, keys.get(leaf.table) ?? [])),
    );
  return notes;
}

async function untilCreated(leaf: string, create: () => Promise<number | null>): Promise<void> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (let retryMs = RETRY_MS; ; retryMs = Math.min(1.5 * retryMs, MAX_RETRY_MS)) {
    try {
      if ((await create()) !== null) return;
    } catch (error) {
      if (isGone(error)) return;
      throw error;
    }
    if (performance.now() > deadline)
      throw new Error(`Others have kept the table ${leaf} for ten minutes: see pg_stat_activity. Try again later.`);
    await delay(retryMs);
  }
}

/** Whether a table does not exist: the partitions of a day that is too old are dropped every hour. */
const isGone = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === '42P01';

/**
 * Throws when a change may not have been noted since `beginNotes`. Call it when nothing writes for the account any more. A
 * partition that is younger than the triggers has none of them, and must have no rows of the account.
 */
export async function checkNotes(source: Db, notes: Notes): Promise<void> {
  const triggers = new Map(
    (await listTriggers(source, { runs: notes.run })).map(({ leaf, names }) => [leaf, names.length]),
  );
  for (const { leaf } of await listLeaves(source, { tables: TABLES }))
    if (triggers.get(leaf) !== 2 && (await hasRows(source, notes, leaf)))
      throw new Error(`The changes of the table ${leaf} are not noted any more: begin the move anew.`);
}

/**
 * Ends the notes of the runs whose names begin with `run`, and deletes them. A trigger remains where somebody else reads or
 * writes its table for a long time: then a worker ends it later.
 */
export async function endNotes(source: Pool, notes: Notes): Promise<void> {
  await endTriggers(source, notes);
  await transaction(source, (tx) => removeNotes(tx, notes));
}

async function endTriggers(source: Pool, { run }: Notes): Promise<void> {
  for (const triggers of await listTriggers(source, { runs: run }))
    await transactionUnlessLocked(source, (tx) => dropTriggers(tx, triggers));
}

/** There may be millions: what an account with much traffic has changed while it was copied. */
async function removeNotes(tx: Db, notes: Notes): Promise<void> {
  await setStatementTimeoutMinutes(tx, 60);
  await deleteChanges(tx, notes);
}

/** Ends what commands have left that were killed, or could not end it. */
export async function endAbandonedNotes(pool: Pool): Promise<void> {
  for (const accountId of await listNotedAccounts(pool))
    await transaction(pool, async (tx) => {
      if (!(await tryMoveLockOfTransaction(tx, { accountId }))) return;
      const notes = { accountId, run: runsOf(accountId) };
      await endTriggers(pool, notes);
      // In the transaction that has the lock: without it, these might be the notes of another run.
      await removeNotes(tx, notes);
    });
}

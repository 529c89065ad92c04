import { NOT_SERVED } from '../../platform/db/away.ts';
import { type Db, exec, many, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** The name of the sessions that copy an account: they write for no other one. */
export const COPY_SESSION = 'heliograph account copy';

type AccountKey = { readonly accountId: number };

/**
 * The steps of an account between cells. In the cell that it leaves: `preparing` (served, but background work ends),
 * `leaving` (not served) and `left`; in the one that it goes to: `arriving` (not served).
 */
export type MoveState = 'preparing' | 'leaving' | 'left' | 'arriving';

const MOVE = columns({
  accountId: as<number>('v.account_id'),
  state: as<MoveState>('v.state'),
  cell: as<number>('v.cell'),
  arrived: as<boolean>('v.arrived_at IS NOT NULL'),
  /** When the state began; for `leaving`, when the move began. */
  since: as<Date>('v.since'),
  /** Whether there is a directory, which must know the new cell before the account has arrived. */
  hasDirectory: as<boolean>('v.has_directory'),
  /** Whether all of an arriving account is here, and not only what was copied ahead. */
  isComplete: as<boolean>('v.is_complete'),
});
export type Move = RowOf<typeof MOVE>;

export const findMove = (db: Db, { accountId }: AccountKey): Promise<Move | undefined> =>
  maybeOne(db, sql`SELECT ${MOVE} FROM account_move v WHERE v.account_id = ${accountId}`);

/** Finds the move and locks it until the transaction ends: its time does not end meanwhile. */
export const findMoveForUpdate = (db: Db, { accountId }: AccountKey): Promise<Move | undefined> =>
  maybeOne(db, sql`SELECT ${MOVE} FROM account_move v WHERE v.account_id = ${accountId} FOR UPDATE`);

/**
 * Marks an account as preparing or leaving, for `seconds`; after that it is served again. Returns 0 when it has already left.
 */
export const markMove = (
  db: Db,
  move: AccountKey & { cell: number; state: 'preparing' | 'leaving'; seconds: number; hasDirectory: boolean },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO account_move AS v (account_id, state, cell, ends_at, has_directory)
        VALUES (${move.accountId}, ${move.state}, ${move.cell}, now() + ${move.seconds} * interval '1 second',
                ${move.hasDirectory})
        ON CONFLICT (account_id) DO UPDATE SET state = excluded.state, cell = excluded.cell, ends_at = excluded.ends_at,
          has_directory = excluded.has_directory
          WHERE v.state IN ('preparing', 'leaving')`,
  );

/**
 * Marks an account as arriving from `cell`: it is not served yet. With `isComplete`, all of it is here. Returns the time of the
 * transaction, by which `checkCopy` knows the copy.
 */
export async function markArriving(
  db: Db,
  { accountId, cell, isComplete }: AccountKey & { cell: number; isComplete: boolean },
): Promise<string> {
  const { copy } = await one<{ copy: string }>(
    db,
    sql`INSERT INTO account_move AS v (account_id, state, cell, is_complete)
        VALUES (${accountId}, 'arriving', ${cell}, ${isComplete})
        ON CONFLICT (account_id) DO UPDATE SET state = 'arriving', cell = excluded.cell, arrived_at = NULL, since = now(),
          is_complete = excluded.is_complete, was_here = v.was_here OR v.state = 'left'
        RETURNING v.since::text AS copy`,
  );
  return copy;
}

/**
 * Locks the mark of an arriving account until the transaction ends. Throws when it is not that of the copy, so that rows of
 * the copy may be missing.
 */
export async function checkCopy(db: Db, { accountId, copy }: AccountKey & { copy: string }): Promise<void> {
  const mark = await maybeOne(
    db,
    sql`SELECT FROM account_move WHERE account_id = ${accountId} AND state = 'arriving' AND since = ${copy}::timestamptz
        FOR UPDATE`,
  );
  if (mark === undefined) throw new Error('The copy in the target is gone, or an older one: begin the move anew.');
}

/**
 * Has an account that was arriving, and that had left this cell before, be as it was: it has left, for the cell that it was
 * to come from. Returns 0 when it had not been here, or is not arriving.
 */
export const moveBackToLeft = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(
    db,
    sql`UPDATE account_move SET state = 'left', arrived_at = now(), since = now(), is_complete = true, was_here = false
        WHERE account_id = ${accountId} AND state = 'arriving' AND was_here`,
  );

/** Lists the accounts that have been arriving for more than `seconds`. */
export const listOldArrivals = (db: Db, { seconds }: { seconds: number }): Promise<Move[]> =>
  many(
    db,
    sql`SELECT ${MOVE} FROM account_move v
        WHERE v.state = 'arriving' AND v.since < now() - ${seconds} * interval '1 second'`,
  );

/** Decides that a leaving account has left. */
export const moveToLeft = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(
    db,
    sql`UPDATE account_move SET state = 'left', ends_at = NULL, since = now()
        WHERE account_id = ${accountId} AND state = 'leaving'`,
  );

/** Records that an account that has left is served in its new cell. */
export const updateArrived = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`UPDATE account_move SET arrived_at = now() WHERE account_id = ${accountId} AND state = 'left'`);

/** Ends a move: the account is served here. Returns 0 when it was in none of these states. */
export const deleteMove = (
  db: Db,
  { accountId, states }: AccountKey & { states: readonly MoveState[] },
): Promise<number> =>
  exec(db, sql`DELETE FROM account_move WHERE account_id = ${accountId} AND state = ANY(${states})`);

/** Locks the moves whose time is over before the account has left, until the transaction ends. */
export const listOverdueMoves = (db: Db): Promise<Move[]> =>
  many(
    db,
    sql`SELECT ${MOVE} FROM account_move v WHERE v.state IN ('preparing', 'leaving') AND v.ends_at < now()
        FOR UPDATE SKIP LOCKED`,
  );

/** Lists the accounts that have left and are not yet known to be served in their new cell. */
export const listUnarrivedMoves = (db: Db): Promise<Move[]> =>
  many(db, sql`SELECT ${MOVE} FROM account_move v WHERE v.state = 'left' AND v.arrived_at IS NULL`);

/** Lists the moves that are not over, here or in the other cell. */
export const listOpenMoves = (db: Db): Promise<Move[]> =>
  many(
    db,
    sql`SELECT ${MOVE} FROM account_move v WHERE v.state <> 'left' OR v.arrived_at IS NULL ORDER BY v.account_id`,
  );

/** Lists the accounts that are not served in this database. */
export const listNotServed = (db: Db): Promise<Move[]> =>
  many(db, sql`SELECT ${MOVE} FROM account_move v WHERE ${NOT_SERVED}`);

/** Lists the cells to which accounts have left. */
export async function listCellsLeftFor(db: Db): Promise<number[]> {
  const rows = await many<{ cell: number }>(
    db,
    sql`SELECT DISTINCT cell FROM account_move WHERE state = 'left' ORDER BY 1`,
  );
  return rows.map(({ cell }) => cell);
}

/**
 * Locks what workers lock or change for an account without a queue row of its own, until the transaction ends: a worker
 * that has changed it since the transaction began makes this fail.
 */
export async function lockAccountRows(db: Db, { accountId }: AccountKey): Promise<void> {
  await exec(db, sql`SELECT FROM account WHERE id = ${accountId} FOR UPDATE`);
  await exec(db, sql`SELECT FROM credit_balance WHERE account_id = ${accountId} FOR UPDATE`);
  await exec(db, sql`SELECT FROM campaign WHERE account_id = ${accountId} FOR UPDATE`);
  await exec(db, sql`SELECT FROM campaign_run WHERE account_id = ${accountId} FOR UPDATE`);
}

/** The clock of the database, to the microsecond. */
export const findClock = async (db: Db): Promise<string> =>
  (await one<{ now: string }>(db, sql`SELECT clock_timestamp()::text AS now`)).now;

/** Any number, but the same in every release. */
const MOVE_LOCK = 7_306_501;

/** Takes the lock of the moves of an account for this session; false when another session has it. */
export const tryMoveLock = async (db: Db, { accountId }: AccountKey): Promise<boolean> =>
  (await one<{ taken: boolean }>(db, sql`SELECT pg_try_advisory_lock(${MOVE_LOCK}, hashint8(${accountId})) AS taken`))
    .taken;

/** As `tryMoveLock`, until the transaction ends. */
export const tryMoveLockOfTransaction = async (tx: Db, { accountId }: AccountKey): Promise<boolean> =>
  (
    await one<{ taken: boolean }>(
      tx,
      sql`SELECT pg_try_advisory_xact_lock(${MOVE_LOCK}, hashint8(${accountId})) AS taken`,
    )
  ).taken;

/** Whether an account exists in this database and is not merely what has left it, or has not yet arrived. */
export const isServed = async (db: Db, { accountId }: AccountKey): Promise<boolean> =>
  (await maybeOne(
    db,
    sql`SELECT FROM account a WHERE a.id = ${accountId} AND NOT EXISTS (
          SELECT FROM account_move v WHERE v.account_id = a.id AND v.state IN ('left', 'arriving'))`,
  )) !== undefined;

/**
 * Counts the transactions of this database that began before `instant` and may write for an account that leaves. Exports only
 * read, and so does the copy of another account, which may take an hour.
 */
export async function countOlderTransactions(db: Db, { instant }: { instant: string }): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
          AND xact_start <= ${instant}::timestamptz AND application_name NOT IN ('heliograph export', ${COPY_SESSION})`,
  );
  return row.count;
}

/** Whether a worker may still send the events of an account. */
export const hasWebhookClaim = async (db: Db, { accountId }: AccountKey): Promise<boolean> =>
  (await maybeOne(db, sql`SELECT FROM webhook_claim WHERE account_id = ${accountId}`)) !== undefined;

/** Takes the events of an account from the worker that has them: what it has not recorded is sent again. */
export const deleteWebhookClaim = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`DELETE FROM webhook_claim WHERE account_id = ${accountId}`);

/** Lets users of other accounts who look at this one return to their own. */
export const endActing = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`UPDATE user_session SET acting_account_id = NULL WHERE acting_account_id = ${accountId}`);

/** Ends the sign-ins in progress of an account, which refer to it. */
export const deleteSignIns = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`DELETE FROM single_sign_on_state WHERE account_id = ${accountId}`);

/** Counts the rows that are kept for an arriving account until it is served. */
export async function countParcelRows(db: Db, { accountId }: AccountKey): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT coalesce(sum(cardinality(rows)), 0)::bigint AS count FROM account_parcel WHERE account_id = ${accountId}`,
  );
  return row.count;
}

/** Lists the tables of the rows that have arrived with an account, in the order in which they were packed. */
export async function listParcelTables(db: Db, { accountId }: AccountKey): Promise<string[]> {
  const rows = await many<{ table: string }>(
    db,
    sql`SELECT table_name AS "table" FROM account_parcel WHERE account_id = ${accountId} GROUP BY 1 ORDER BY min(id)`,
  );
  return rows.map(({ table }) => table);
}

/** Deletes the parcels of an account: their rows are in their tables, or it does not arrive. */
export const deleteParcels = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`DELETE FROM account_parcel WHERE account_id = ${accountId}`);

/** The instant up to which the messages of the default validity have been checked, to the microsecond. */
export const findExpiryInstant = async (db: Db): Promise<string> =>
  (await one<{ at: string }>(db, sql`SELECT done_to::text AS at FROM expiry_progress`)).at;

/** Has messages checked again from an earlier instant on. */
export const moveExpiryBack = (db: Db, { instant }: { instant: string }): Promise<number> =>
  exec(db, sql`UPDATE expiry_progress SET done_to = ${instant}::timestamptz WHERE done_to > ${instant}::timestamptz`);

/** What an account has: balance, and what is frozen, as one text. */
export async function findMoney(db: Db, { accountId }: AccountKey): Promise<string> {
  const row = await one<{ money: string }>(
    db,
    sql`SELECT concat_ws(' | ',
          (SELECT concat(currency, ' ', available_micros, ' ', unlimited) FROM credit_balance WHERE account_id = ${accountId}),
          (SELECT sum(micros) FROM credit_frozen WHERE account_id = ${accountId})) AS money`,
  );
  return row.money;
}

/** Sums the ledger of an account by kind and books, or a part of it (a subquery), as one text. */
export async function sumLedger(
  db: Db,
  { accountId, part = sql`ledger_entry` }: AccountKey & { part?: Sql | undefined },
): Promise<string | null> {
  const row = await one<{ sums: string | null }>(
    db,
    sql`SELECT string_agg(concat(kind, ' ', from_book, '>', to_book, ' ', n, ' ', micros), ', ' ORDER BY kind, from_book, to_book)
                 AS sums
        FROM (SELECT kind, from_book, to_book, count(*) AS n, sum(amount_micros) AS micros FROM ${part} AS e
              WHERE account_id = ${accountId} GROUP BY 1, 2, 3) AS l`,
  );
  return row.sums;
}

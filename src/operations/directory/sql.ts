import { cellOfId } from '../../platform/db/cell.ts';
import { type Db, exec, many, maybeOne, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** The NOTIFY channel on which the account of each changed row is announced. */
export const DIRECTORY_CHANNEL = 'heliograph_directory';

const ACCOUNT_CELL = columns({
  accountId: as<number>('account_id'),
  cell: as<number>('cell'),
  /** Since when the requests of the account are held; null: they are not. */
  movingSince: as<Date | null>('moving_since'),
});
/** Which cell an account belongs to, in the database of the directory. */
export type AccountCell = RowOf<typeof ACCOUNT_CELL>;

/** Finds the cell of an account: without a row of its own, that in whose range its id is. */
export async function findAccountCell(db: Db, { accountId }: { accountId: number }): Promise<AccountCell> {
  const row = await maybeOne(db, sql`SELECT ${ACCOUNT_CELL} FROM account_cell WHERE account_id = ${accountId}`);
  return row ?? { accountId, cell: cellOfId(accountId), movingSince: null };
}

/** Lists the accounts that have moved or are moving. */
export const listAccountCells = (db: Db): Promise<AccountCell[]> =>
  many(db, sql`SELECT ${ACCOUNT_CELL} FROM account_cell ORDER BY account_id`);

/**
 * Holds the requests of an account, as long as it is on its way to another cell: the directory answers for none of them
 * until `moveAccount` or `releaseAccount`, or for two minutes. A request waits for 10 seconds and is then answered 503. A
 * hold that has begun begins anew.
 *
 * Directories that are connected know of it within milliseconds, but may have sent requests on just before: the cell
 * that the account leaves must refuse them itself from the moment on at which nothing more is copied.
 */
export const holdAccount = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(
    db,
    sql`WITH held AS (
        INSERT INTO account_cell (account_id, cell, moving_since) VALUES (${accountId}, ${cellOfId(accountId)}, now())
        ON CONFLICT (account_id) DO UPDATE SET moving_since = excluded.moving_since
        RETURNING account_id)
      SELECT pg_notify(${DIRECTORY_CHANNEL}, account_id::text) FROM held`,
  );

/** Any number, but the same in every release. */
const CELL_LOCK = 7_306_502;

/** Keeps other transactions that take this lock of the account waiting until the caller's ends. */
export const lockAccountCell = (tx: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(tx, sql`SELECT pg_advisory_xact_lock(${CELL_LOCK}, hashint8(${accountId}))`);

/** Moves an account to another cell and ends the hold: requests that wait, and all later ones, go there. */
export const moveAccount = (db: Db, { accountId, cell }: { accountId: number; cell: number }): Promise<number> =>
  exec(
    db,
    sql`WITH moved AS (
        INSERT INTO account_cell (account_id, cell) VALUES (${accountId}, ${cell})
        ON CONFLICT (account_id) DO UPDATE SET cell = excluded.cell, moving_since = NULL
        RETURNING account_id)
      SELECT pg_notify(${DIRECTORY_CHANNEL}, account_id::text) FROM moved`,
  );

/** Ends the hold without a change: requests that wait go to the cell where the account has been. */
export const releaseAccount = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(
    db,
    sql`WITH released AS (
        UPDATE account_cell SET moving_since = NULL WHERE account_id = ${accountId} RETURNING account_id)
      SELECT pg_notify(${DIRECTORY_CHANNEL}, account_id::text) FROM released`,
  );

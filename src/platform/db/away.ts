import { plainArray } from './array.ts';
import { type Db, many, onePlan, type Sql, sql } from './query.ts';

/** The error code of `refuse_away` (db/migrations/0095_account_move.sql). */
const AWAY = 'HM001';

/** Whether a statement was refused because an account is in another cell, or on its way to or from one. */
export const isAway = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === AWAY;

/** Whether a row `v` of `account_move` means that its account is not served in this database. */
export const NOT_SERVED = sql`v.state <> 'preparing'`;

/**
 * A condition that is true when all these accounts are served in this database, and otherwise ends the statement with an
 * error that `isAway` knows. A statement that writes for an account has it, or follows `listAway` in its transaction: the
 * move of an account waits for the transactions that had begun before, and no later one may write.
 */
export const allServed = (accountIds: Sql): Sql => sql`NOT EXISTS (
  SELECT FROM account_move v WHERE v.account_id = ANY(${accountIds}) AND ${NOT_SERVED} AND refuse_away(v.account_id))`;

/** A condition that is true when this account is served in this database: its rows change here, and agree with each other. */
export const isServedHere = (accountId: Sql): Sql =>
  sql`NOT EXISTS (SELECT FROM account_move v WHERE v.account_id = ${accountId} AND ${NOT_SERVED})`;

/** Lists those of these accounts that are not served in this database. */
export async function listAway(db: Db, accountIds: readonly number[]): Promise<Set<number>> {
  if (accountIds.length === 0) return new Set();
  const rows = await many<{ id: number }>(
    db,
    onePlan(sql`SELECT v.account_id AS id FROM account_move v
        WHERE v.account_id = ANY((SELECT ${plainArray(accountIds)}::bigint[])::bigint[]) AND ${NOT_SERVED}`),
  );
  return new Set(rows.map(({ id }) => id));
}

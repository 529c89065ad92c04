import { plainArray } from '../../platform/db/array.ts';
import { bigint, insertRows, json, text } from '../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, type Sql, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const AWAY = columns({
  accountId: as<number>('a.id'),
  /** `held`: on its way to the other cell; `moved`: served there. */
  state: as<'held' | 'moved'>('a.away'),
  cell: as<number>('a.cell'),
  /** Number of moves of the account. */
  moves: as<number>('a.moves'),
});
/** An account that is not served in this database. */
export type Away = RowOf<typeof AWAY>;

export const listAway = (db: Db): Promise<Away[]> =>
  many(db, sql`SELECT ${AWAY} FROM account a WHERE a.away IS NOT NULL ORDER BY a.id`);

/** A condition: this account is served in this database, so that its rows change here, and agree with each other. */
export const isServedHere = (accountId: Sql): Sql =>
  sql`NOT EXISTS (SELECT FROM account v WHERE v.id = ${accountId} AND v.away IS NOT NULL)`;

/**
 * Takes what carriers sent for accounts that are not served here out of `rows`, and keeps it in the caller's transaction
 * until a worker passes it on to the cell of its account (`cells/pass-on.ts`). Returns the other rows.
 *
 * @param contentOf JSON, as the receiver of this kind reads it
 */
export async function keepForOthers<T extends { readonly accountId: number; readonly connectionId: number }>(
  tx: Db,
  kind: 'receipt' | 'inbound',
  rows: readonly T[],
  contentOf: (row: T) => string,
): Promise<readonly T[]> {
  if (rows.length === 0) return rows;
  const ids = [...new Set(rows.map(({ accountId }) => accountId))];
  const away = new Set(
    (
      await many<{ id: number }>(
        tx,
        onePlan(sql`SELECT id FROM account WHERE away IS NOT NULL
          AND id = ANY((SELECT ${plainArray(ids)}::bigint[])::bigint[])`),
      )
    ).map(({ id }) => id),
  );
  if (away.size === 0) return rows;
  const others = rows.filter(({ accountId }) => away.has(accountId));
  const kept = others.map((row) => ({
    accountId: row.accountId,
    connectionId: row.connectionId,
    kind,
    content: contentOf(row),
  }));
  await exec(tx, insertRows('passed_on', kept, { accountId: bigint, connectionId: bigint, kind: text, content: json }));
  return rows.filter(({ accountId }) => !away.has(accountId));
}

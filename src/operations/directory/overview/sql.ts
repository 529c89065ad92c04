import { isServedHere } from '../../../platform/db/away.ts';
import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { ALL_ROUTES } from '../../../network/routing/sql.ts';

const FIGURES = columns({
  /** The number of the cell that the database is; null before its first start. */
  number: as<number | null>('(SELECT number FROM cell)'),
  /** Those that it serves. */
  accounts: as<number>(sql`(SELECT count(*) FROM account a WHERE ${isServedHere(sql`a.id`)})`),
  /** Messages in the queue, scheduled ones included. */
  waiting: as<number>('(SELECT coalesce(sum(size - intent), 0) FROM dispatch_chunk)::bigint'),
  /** Active connections that no worker has up. */
  connectionsDown: as<number>(
    `(SELECT count(*) FROM connection_down d JOIN connection c ON c.id = d.connection_id WHERE c.status = 'active')`,
  ),
  /** Differs when names of connections, routes or prices differ. Settings and rates are each cell's own. */
  network: as<string>(
    sql`md5((SELECT coalesce(string_agg(concat_ws(' ', name, kind), ',' ORDER BY name), '') FROM connection) || ';' ||
         (SELECT coalesce(string_agg(route, ',' ORDER BY route), '')
          FROM (SELECT concat_ws(' ', r.channel, r.prefix, c.name, r.priority, r.on_unknown, r.weight, r.network,
                                 r.owner_id, r.sender, r.hours) AS route
                FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id) AS routes) || ';' ||
         (SELECT coalesce(string_agg(concat_ws(' ', channel, prefix, unit_micros, refund_undelivered), ','
                 ORDER BY channel, prefix), '') FROM price))`,
  ),
});
export type CellFigures = RowOf<typeof FIGURES>;

/**
 * Lists the names with which people of the accounts that a cell serves sign in: users, and the short names and mail domains
 * of their companies.
 */
export async function listNames(db: Db): Promise<string[]> {
  const rows = await many<{ name: string }>(
    db,
    sql`SELECT 'user ' || u.username AS name FROM app_user u WHERE ${isServedHere(sql`u.account_id`)}
      UNION ALL
      SELECT 'company ' || s.short_name FROM single_sign_on s WHERE ${isServedHere(sql`s.account_id`)}
      UNION ALL
      SELECT 'mail domain ' || d.domain FROM single_sign_on_domain d WHERE ${isServedHere(sql`d.account_id`)}
      ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Finds what operators want to know about a cell, in its own database. */
export const findCellFigures = (db: Db): Promise<CellFigures> => one(db, sql`SELECT ${FIGURES}`);

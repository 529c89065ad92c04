import { ALL_ROUTES, RANK, type Route } from '../../../network/routing/sql.ts';
import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

const ROUTE = columns({
  id: as<number>('r.id'),
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connection: as<string>('c.name'),
  priority: as<number>('r.priority'),
  onUnknown: as<Route['onUnknown']>('r.on_unknown'),
  weight: as<number | null>('r.weight'),
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Route['hours']>('r.hours'),
  /** The place among the routes of the same prefix, from 1. */
  order: as<number>(sql`row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY ${RANK})::int`),
  /** True if a worker has the connection up. */
  connectionUp: as<boolean>(`c.status = 'active' AND EXISTS (
           SELECT FROM connection_status s
           WHERE s.connection_id = c.id AND s.up AND s.updated_at > now() - interval '1 minute')`),
});
export type RouteRow = RowOf<typeof ROUTE>;

/** All routes, as a table `r` with the columns of a `RouteRow`. */
const ROUTES = sql`(
  SELECT ${ROUTE}
  FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id) AS r`;
/** The route that decides comes first within its channel. */
const IN_ORDER = sql`ORDER BY r.channel, length(r.prefix) DESC, r.prefix, r."order"`;

type Filter = { readonly channel: Channel | null; readonly connection: string | null };

const matches = ({ channel, connection }: Filter) => sql`FROM ${ROUTES}
  WHERE (${channel}::text IS NULL OR r.channel = ${channel})
    AND (${connection}::text IS NULL OR r.connection = ${connection})`;

export async function listRoutePage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<RouteRow[]> {
  return many(db, sql`SELECT r.* ${matches(filter)} ${IN_ORDER} LIMIT ${filter.limit} OFFSET ${filter.offset}`);
}

export async function countRoutes(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(filter)}`)).total;
}

/** Finds a route that exists. */
export async function findRoute(db: Db, { id }: { id: number }): Promise<RouteRow> {
  return one(db, sql`SELECT r.* FROM ${ROUTES} WHERE r.id = ${id}`);
}

/**
 * Lists the routes of the longest prefix with which a number begins, in the order in which they are tried. `digits` is the
 * number without the plus sign.
 */
export async function listRoutesFor(
  db: Db,
  { channel, digits }: { channel: Channel; digits: string },
): Promise<RouteRow[]> {
  return many(
    db,
    sql`SELECT r.* FROM ${ROUTES}
        WHERE r.channel = ${channel} AND r.prefix = (
          SELECT prefix FROM ${ALL_ROUTES} AS a WHERE channel = ${channel} AND starts_with(${digits}, prefix)
          ORDER BY length(prefix) DESC LIMIT 1) ${IN_ORDER}`,
  );
}

import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Route } from '../../../network/routing/sql.ts';

export type RouteRow = Omit<Route, 'connectionId' | 'sandbox'> & { connectionUp: boolean };

/** Every route `r`, the deciding order first within a channel, and whether a worker has its connection up. */
const ROUTES = sql`(
  SELECT r.id, r.channel, r.prefix, c.name AS connection, r.priority, r.on_unknown AS "onUnknown",
         row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY r.priority, r.id)::int AS "order",
         c.status = 'active' AND EXISTS (
           SELECT FROM connection_status s
           WHERE s.connection_id = c.id AND s.up AND s.updated_at > now() - interval '1 minute') AS "connectionUp"
  FROM route r JOIN connection c ON c.id = r.connection_id) AS r`;
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

export async function findRoute(db: Db, { id }: { id: number }): Promise<RouteRow> {
  return one(db, sql`SELECT r.* FROM ${ROUTES} WHERE r.id = ${id}`);
}

/** The routes of the longest prefix that a number begins with, the first one first. `digits` is without the plus. */
export async function listRoutesFor(
  db: Db,
  { channel, digits }: { channel: Channel; digits: string },
): Promise<RouteRow[]> {
  return many(
    db,
    sql`SELECT r.* FROM ${ROUTES}
        WHERE r.channel = ${channel} AND r.prefix = (
          SELECT prefix FROM route WHERE channel = ${channel} AND starts_with(${digits}, prefix)
          ORDER BY length(prefix) DESC LIMIT 1) ${IN_ORDER}`,
  );
}

import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';

const ROUTE = columns({
  id: as<number>('r.id'),
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connectionId: as<number>('r.connection_id'),
  connection: as<string>('c.name'),
  /** Whether the connection leads to the sandbox carrier. */
  sandbox: as<boolean>('c.sandbox'),
  priority: as<number>('r.priority'),
  /** For single sends, where this is the first route of its prefix. */
  onUnknown: as<OnUnknown>('r.on_unknown'),
  /** The place among the routes of the same prefix, from 1. */
  order: as<number>('row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY r.priority, r.id)::int'),
});
export type Route = RowOf<typeof ROUTE>;

/** Lists all routes, within a channel in the order that decides: longest prefix, then priority, then age. */
export async function listRoutes(db: Db): Promise<Route[]> {
  return many(
    db,
    sql`SELECT ${ROUTE}
        FROM route r JOIN connection c ON c.id = r.connection_id
        ORDER BY r.channel, length(r.prefix) DESC, r.prefix, r.priority, r.id`,
  );
}

/** Inserts a route, or changes priority and policy of the one that exists. */
export async function insertRoute(
  db: Db,
  route: { channel: Channel; prefix: string; connectionId: number; priority: number; onUnknown?: OnUnknown },
): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO route (channel, prefix, connection_id, priority, on_unknown)
        VALUES (${route.channel}, ${route.prefix}, ${route.connectionId}, ${route.priority},
                ${route.onUnknown ?? 'hold'})
        ON CONFLICT (channel, prefix, connection_id)
          DO UPDATE SET priority = excluded.priority, on_unknown = excluded.on_unknown
        RETURNING id`,
  );
}

const DELETED_ROUTE = columns({
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connection: as<string>('c.name'),
  priority: as<number>('r.priority'),
  onUnknown: as<OnUnknown>('r.on_unknown'),
});
export type DeletedRoute = RowOf<typeof DELETED_ROUTE>;

/** Deletes a route and returns what it was; undefined when there is none. */
export async function deleteRoute(db: Db, { id }: { id: number }): Promise<DeletedRoute | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING ${DELETED_ROUTE}`,
  );
}

/** Deletes all routes of a connection; returns their number. */
export async function deleteRoutesOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM route WHERE connection_id = ${connectionId}`);
}

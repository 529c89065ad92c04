import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';

export type Route = {
  id: number;
  channel: Channel;
  prefix: string;
  connectionId: number;
  connection: string;
  /** Whether the connection leads to the sandbox carrier. */
  sandbox: boolean;
  priority: number;
  /** The place among the routes of the same prefix, from 1. */
  order: number;
  /** For single sends, where this is the first route of its prefix. */
  onUnknown: OnUnknown;
};

/** All routes, the deciding order first within a channel: longest prefix, then priority, then age. */
export async function listRoutes(db: Db): Promise<Route[]> {
  return many(
    db,
    sql`SELECT r.id, r.channel, r.prefix, r.connection_id AS "connectionId", c.name AS connection, c.sandbox,
               r.priority, r.on_unknown AS "onUnknown",
               row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY r.priority, r.id)::int AS "order"
        FROM route r JOIN connection c ON c.id = r.connection_id
        ORDER BY r.channel, length(r.prefix) DESC, r.prefix, r.priority, r.id`,
  );
}

/** Adds a route, or changes the priority and the policy of the one that is there. */
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

export type DeletedRoute = Pick<Route, 'channel' | 'prefix' | 'connection' | 'priority' | 'onUnknown'>;

/** Takes a route away and answers what it was; undefined when there is none. */
export async function deleteRoute(db: Db, { id }: { id: number }): Promise<DeletedRoute | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING r.channel, r.prefix, c.name AS connection, r.priority, r.on_unknown AS "onUnknown"`,
  );
}

/** Takes all routes of a connection away. */
export async function deleteRoutesOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM route WHERE connection_id = ${connectionId}`);
}

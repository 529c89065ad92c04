import { type Db, exec, many, one, sql } from '../db/query.ts';
import type { Channel } from '../lib/channel.ts';

export type Route = {
  id: number;
  channel: Channel;
  prefix: string;
  connectionId: number;
  connection: string;
  priority: number;
};

/** All routes, the deciding order first within a channel: longest prefix, then priority, then age. */
export async function listRoutes(db: Db): Promise<Route[]> {
  return many(
    db,
    sql`SELECT r.id, r.channel, r.prefix, r.connection_id AS "connectionId", c.name AS connection, r.priority
        FROM route r JOIN connection c ON c.id = r.connection_id
        ORDER BY r.channel, length(r.prefix) DESC, r.prefix, r.priority, r.id`,
  );
}

/** Adds a route, or changes the priority of the one that is there. */
export async function insertRoute(
  db: Db,
  route: { channel: Channel; prefix: string; connectionId: number; priority: number },
): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO route (channel, prefix, connection_id, priority)
        VALUES (${route.channel}, ${route.prefix}, ${route.connectionId}, ${route.priority})
        ON CONFLICT (channel, prefix, connection_id) DO UPDATE SET priority = excluded.priority
        RETURNING id`,
  );
}

export async function deleteRoute(db: Db, { id }: { id: number }): Promise<number> {
  return exec(db, sql`DELETE FROM route WHERE id = ${id}`);
}

export async function notifyRoutes(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify('heliograph_routing', '')`);
}

/** Takes all routes of a connection away. */
export async function deleteRoutesOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM route WHERE connection_id = ${connectionId}`);
}

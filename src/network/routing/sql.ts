import { type Db, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { Conditions } from './conditions/conditions.ts';
import type { Hours } from './conditions/hours.ts';

/** The routes of both tables, for the FROM of a statement: rows with the columns of `conditional_route`. */
export const ALL_ROUTES = sql`(
  SELECT id, channel, prefix, connection_id, priority, on_unknown, weight, NULL AS network, NULL::bigint AS owner_id,
         NULL AS sender, NULL::jsonb AS hours
  FROM route
  UNION ALL
  SELECT id, channel, prefix, connection_id, priority, on_unknown, weight, network, owner_id, sender, hours
  FROM conditional_route)`;

/**
 * The channels and prefixes for which an account has a route, its conditions met or not, for the FROM of a statement.
 * Accounts may know no more than that about routes.
 */
export const routedPrefixes = ({ accountId }: { accountId: number }) => sql`(
  SELECT channel, prefix FROM route
  UNION ALL
  SELECT channel, prefix FROM conditional_route WHERE owner_id IS NULL OR owner_id = ${accountId})`;

/**
 * The order in which the routes `r` of a prefix are tried as far as their conditions are met: by priority; among equal
 * priorities first those that share the traffic, then those with more conditions, then the older ones.
 */
export const RANK = sql`r.priority, r.weight IS NULL, num_nonnulls(r.network, r.owner_id, r.sender, r.hours) DESC, r.id`;

const ROUTE = columns({
  id: as<number>('r.id'),
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connectionId: as<number>('r.connection_id'),
  connection: as<string>('c.name'),
  /** True if the connection leads to the sandbox carrier. */
  sandbox: as<boolean>('c.sandbox'),
  priority: as<number>('r.priority'),
  /** Applies to single sends that are routed by it. */
  onUnknown: as<OnUnknown>('r.on_unknown'),
  /** Its part of the traffic of the routes with the same priority; null: it does not share, and comes after them. */
  weight: as<number | null>('r.weight'),
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Hours | null>('r.hours'),
  /** The place among the routes of the same prefix, from 1. */
  order: as<number>(sql`row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY ${RANK})::int`),
});
export type Route = RowOf<typeof ROUTE>;

/** Lists all routes, within a channel in the order that decides: longest prefix, then their order in it. */
export async function listRoutes(db: Db): Promise<Route[]> {
  return many(
    db,
    sql`SELECT ${ROUTE}
        FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id
        ORDER BY r.channel, length(r.prefix) DESC, r.prefix, ${RANK}`,
  );
}

type NewRoute = {
  readonly channel: Channel;
  readonly prefix: string;
  readonly connectionId: number;
  readonly priority: number;
  readonly onUnknown?: OnUnknown;
  readonly weight?: number | null;
};

/** Inserts a route without conditions, or changes priority, policy and weight of the one that exists. */
export async function insertRoute(db: Db, route: NewRoute): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO route (channel, prefix, connection_id, priority, on_unknown, weight)
        VALUES (${route.channel}, ${route.prefix}, ${route.connectionId}, ${route.priority},
                ${route.onUnknown ?? 'hold'}, ${route.weight ?? null})
        ON CONFLICT (channel, prefix, connection_id)
          DO UPDATE SET priority = excluded.priority, on_unknown = excluded.on_unknown, weight = excluded.weight
        RETURNING id`,
  );
}

/** Inserts a route with conditions, or changes priority, policy and weight of the one that has the same. */
export async function insertConditionalRoute(db: Db, route: NewRoute & Conditions): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO conditional_route (id, channel, prefix, connection_id, priority, on_unknown, weight,
                                       network, owner_id, sender, hours)
        VALUES (nextval(pg_get_serial_sequence('route', 'id')), ${route.channel}, ${route.prefix}, ${route.connectionId},
                ${route.priority}, ${route.onUnknown ?? 'hold'}, ${route.weight ?? null}, ${route.network},
                ${route.accountId}, ${route.sender}, ${route.hours && JSON.stringify(route.hours)})
        ON CONFLICT (channel, prefix, connection_id, network, owner_id, sender, hours)
          DO UPDATE SET priority = excluded.priority, on_unknown = excluded.on_unknown, weight = excluded.weight
        RETURNING id`,
  );
}

const DELETED_ROUTE = columns({
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connection: as<string>('c.name'),
  priority: as<number>('r.priority'),
  onUnknown: as<OnUnknown>('r.on_unknown'),
  weight: as<number | null>('r.weight'),
});
export type DeletedRoute = RowOf<typeof DELETED_ROUTE>;

/** Deletes a route without conditions and returns it; undefined when there is none. */
export async function deleteRoute(db: Db, { id }: { id: number }): Promise<DeletedRoute | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING ${DELETED_ROUTE}`,
  );
}

const DELETED_CONDITIONS = columns({
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Hours | null>('r.hours'),
});

/** Deletes a route with conditions and returns it; undefined when there is none. */
export async function deleteConditionalRoute(
  db: Db,
  { id }: { id: number },
): Promise<(DeletedRoute & RowOf<typeof DELETED_CONDITIONS>) | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM conditional_route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING ${DELETED_ROUTE}, ${DELETED_CONDITIONS}`,
  );
}

/** Deletes all routes of a connection; returns their number. */
export async function deleteRoutesOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  const { deleted } = await one<{ deleted: number }>(
    db,
    sql`WITH plain AS (DELETE FROM route WHERE connection_id = ${connectionId} RETURNING id),
             conditional AS (DELETE FROM conditional_route WHERE connection_id = ${connectionId} RETURNING id)
        SELECT (SELECT count(*) FROM plain) + (SELECT count(*) FROM conditional) AS deleted`,
  );
  return deleted;
}

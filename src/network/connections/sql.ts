import { plainArray } from '../../platform/db/array.ts';
import { bigint, int, rowsOf, text, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, raw, sql } from '../../platform/db/query.ts';
import { isAlive } from '../../platform/db/worker-session.ts';
import type { Figures } from './tally.ts';

export type ConnectionKind = 'smpp' | 'whatsapp' | 'rcs';

export type Connection = {
  id: number;
  name: string;
  kind: ConnectionKind;
  status: 'active' | 'paused';
  sandbox: boolean;
  settings: Record<string, unknown>;
  secret: Buffer;
  version: number;
};

const COLUMNS = sql`id, name, kind, status, sandbox, settings, secret, version`;

export async function listConnections(db: Db): Promise<Connection[]> {
  return many(db, sql`SELECT ${COLUMNS} FROM connection ORDER BY id`);
}

export async function findConnection(db: Db, { name }: { name: string }): Promise<Connection | undefined> {
  return maybeOne(db, sql`SELECT ${COLUMNS} FROM connection WHERE name = ${name}`);
}

/** Keeps others from changing a connection until the transaction ends. */
export async function claimConnection(db: Db, { name }: { name: string }): Promise<void> {
  await exec(db, sql`SELECT FROM connection WHERE name = ${name} FOR NO KEY UPDATE`);
}

/** Adds a connection without its secret, which is sealed with the id in it: `moveConnectionSecret` follows. */
export async function insertConnection(
  db: Db,
  { name, kind, sandbox, settings }: { name: string; kind: ConnectionKind; sandbox: boolean; settings: object },
): Promise<{ id: number } | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO connection (name, kind, sandbox, settings, secret)
        VALUES (${name}, ${kind}, ${sandbox}, ${JSON.stringify(settings)}::jsonb, ''::bytea)
        ON CONFLICT (name) DO NOTHING RETURNING id`,
  );
}

/** Changes settings and secret; running workers rebuild the carrier. */
export async function moveConnectionSettings(
  db: Db,
  { id, settings, secret }: { id: number; settings: object; secret: Buffer },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE connection SET settings = ${JSON.stringify(settings)}::jsonb, secret = ${secret}, version = version + 1
        WHERE id = ${id}`,
  );
}

export async function moveConnectionStatus(
  db: Db,
  { name, status }: { name: string; status: 'active' | 'paused' },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE connection SET status = ${status}, version = version + 1 WHERE name = ${name} AND status <> ${status}`,
  );
}

/** How many connections to real carriers there are. */
export async function countRealConnections(db: Db): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM connection WHERE NOT sandbox`);
  return row.count;
}

export type ConnectionStatus = {
  readonly connectionId: number;
  readonly worker: number;
  readonly up: boolean;
  readonly bindsUp: number;
  readonly bindsWanted: number;
  readonly fault: string | null;
};

/** What this worker sees of a connection. */
export async function insertConnectionStatus(db: Db, s: ConnectionStatus): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO connection_status (connection_id, worker, up, binds_up, binds_wanted, fault)
        VALUES (${s.connectionId}, ${s.worker}, ${s.up}, ${s.bindsUp}, ${s.bindsWanted}, ${s.fault})
        ON CONFLICT (connection_id, worker) DO UPDATE SET up = excluded.up, binds_up = excluded.binds_up,
          binds_wanted = excluded.binds_wanted, fault = excluded.fault, updated_at = now()`,
  );
}

export type ConnectionFigures = Figures & { readonly connectionId: number; readonly inFlight: number };

/** What this worker's connections did since it last said so: beside what it saw of them, and by the minute. */
export async function moveConnectionFigures(
  db: Db,
  { worker, figures }: { worker: number; figures: readonly ConnectionFigures[] },
): Promise<void> {
  await exec(
    db,
    sql`WITH news AS (
          SELECT * FROM ${rowsOf(figures, {
            connection_id: bigint((f) => f.connectionId),
            in_flight: int((f) => f.inFlight),
            accepted: bigint((f) => f.accepted),
            refused: bigint((f) => f.refused),
            retried: bigint((f) => f.retried),
            unknown: bigint((f) => f.unknown),
            per_second: text((f) => String(f.perSecond)),
            last_error: text((f) => f.lastError),
            last_error_at: timestamptz((f) => f.lastErrorAt),
          })} AS u),
        seen AS (
          UPDATE connection_status s SET in_flight = n.in_flight, per_second = n.per_second::real,
            last_error = n.last_error, last_error_at = n.last_error_at
          FROM news n WHERE s.connection_id = n.connection_id AND s.worker = ${worker})
        INSERT INTO connection_minute AS m (connection_id, minute, accepted, refused, retried, unknown)
        SELECT connection_id, date_trunc('minute', now()), accepted, refused, retried, unknown
        FROM news WHERE accepted + refused + retried + unknown > 0 ORDER BY connection_id
        ON CONFLICT (connection_id, minute) DO UPDATE SET accepted = m.accepted + excluded.accepted,
          refused = m.refused + excluded.refused, retried = m.retried + excluded.retried,
          unknown = m.unknown + excluded.unknown`,
  );
}

/** Why this worker has not all its links of a connection, now; the words are kept until it has (`deleteConnectionErrors`). */
export async function insertConnectionError(
  db: Db,
  { connectionId, worker, reason }: { connectionId: number; worker: number; reason: string },
): Promise<void> {
  await exec(
    db,
    sql`WITH dead AS (
          DELETE FROM connection_error e
          WHERE e.connection_id = ${connectionId} AND e.worker <> ${worker} AND NOT ${isAlive(raw('e.worker'))})
        INSERT INTO connection_error (connection_id, worker, text)
        SELECT id, ${worker}, ${reason} FROM connection WHERE id = ${connectionId}
        ON CONFLICT (connection_id, worker) DO UPDATE SET text = excluded.text, at = now()`,
  );
}

/** Forgets what kept this worker, and workers that are no more, from connections of which it has all links now. */
export async function deleteConnectionErrors(
  db: Db,
  { worker, connectionIds }: { worker: number; connectionIds: readonly number[] },
): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM connection_error e
        WHERE e.connection_id = ANY(${plainArray(connectionIds)}::bigint[])
          AND (e.worker = ${worker} OR NOT ${isAlive(raw('e.worker'))})`,
  );
}

/** By connection `c.id`: the last thing that went wrong, at its links or with a message; no row when nothing did. */
export const LAST_ERROR = sql`
  SELECT u.text AS "lastError", u.at AS "lastErrorAt"
  FROM (SELECT text, at FROM connection_error WHERE connection_id = c.id
        UNION ALL
        SELECT s.last_error, s.last_error_at FROM connection_status s
        WHERE s.connection_id = c.id AND s.last_error IS NOT NULL AND s.updated_at > now() - interval '1 minute') AS u
  ORDER BY u.at DESC LIMIT 1`;

/** Forgets minutes that nobody looks at any more. */
export async function deleteOldMinutes(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_minute WHERE minute < now() - interval '2 days'`);
}

/** Forgets what a worker saw: when it stops, or when it no longer runs the connection. */
export async function deleteConnectionStatus(
  db: Db,
  { worker, connectionId }: { worker: number; connectionId: number },
): Promise<void> {
  await exec(db, sql`DELETE FROM connection_status WHERE worker = ${worker} AND connection_id = ${connectionId}`);
}

/** Forgets what workers saw that have not said anything for a minute. */
export async function deleteStaleConnectionStatus(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_status WHERE updated_at < now() - interval '1 minute'`);
}

/** Forgets what dead workers saw, at once. */
export async function deleteDeadConnectionStatus(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_status WHERE NOT ${isAlive(raw('connection_status.worker'))}`);
}

/** NOTIFY channel that every program follows: connections, routes, senders, prices or the restore guard changed. */
export const ROUTING_CHANNEL = 'heliograph_routing';

/** Makes all programs load connections, routes, senders and prices again once the transaction commits. */
export async function notifyRoutingChange(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${ROUTING_CHANNEL}, '')`);
}

/** Counts the routes and the senders that use a connection. */
export async function countUses(
  db: Db,
  { connectionId }: { connectionId: number },
): Promise<{ routes: number; senders: number }> {
  return one(
    db,
    sql`SELECT (SELECT count(*) FROM route WHERE connection_id = ${connectionId}) AS routes,
               (SELECT count(*) FROM sender WHERE connection_id = ${connectionId}) AS senders`,
  );
}

/** NOTIFY channel that is raised when what a worker sees of a connection changes. */
export const LINKS_CHANNEL = 'heliograph_links';

export async function notifyLinks(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${LINKS_CHANNEL}, 'changed')`);
}

/** How many workers besides this one have each connection up. */
export async function listWorkersUp(
  db: Db,
  { besides }: { besides: number },
): Promise<{ connectionId: number; workers: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", count(*)::int AS workers FROM connection_status s
        WHERE worker <> ${besides} AND ${SEES_IT_UP} GROUP BY connection_id`,
  );
}

/** Of a row `s`: a worker that lives has a bind of the connection. */
const SEES_IT_UP = sql`s.up AND s.updated_at > now() - interval '1 minute'`;
const IS_UP = sql`EXISTS (SELECT FROM connection_status s WHERE s.connection_id = c.id AND ${SEES_IT_UP})`;

/** Notes which active connections no worker has up. One that nobody looked at for 15 s is down since now. */
export async function insertDownConnections(db: Db): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO connection_down AS d (connection_id)
        SELECT c.id FROM connection c WHERE c.status = 'active' AND NOT ${IS_UP} ORDER BY c.id
        ON CONFLICT (connection_id) DO UPDATE SET seen_at = now(),
          since = CASE WHEN d.seen_at < now() - interval '15 seconds' THEN now() ELSE d.since END`,
  );
}

/** Forgets those that are up again, or paused. */
export async function deleteDownConnections(db: Db): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM connection_down d USING connection c
        WHERE c.id = d.connection_id AND (c.status = 'paused' OR ${IS_UP})`,
  );
}

export type Reach = { id: number; name: string; up: boolean; dead: boolean };

/** Which connections can take messages, and which have been down for so long, or are paused, that others should. */
export async function listReach(db: Db, { deadAfterMs }: { deadAfterMs: number }): Promise<Reach[]> {
  return many(
    db,
    sql`SELECT c.id, c.name, c.status = 'active' AND ${IS_UP} AS up,
               c.status = 'paused'
                 OR coalesce(d.since <= now() - ${deadAfterMs} * interval '1 millisecond', false) AS dead
        FROM connection c LEFT JOIN connection_down d ON d.connection_id = c.id ORDER BY c.id`,
  );
}

/** Removes a connection. Fails (23503) while routes or numbers name it. */
export async function deleteConnection(db: Db, { id }: { id: number }): Promise<number> {
  return exec(db, sql`DELETE FROM connection WHERE id = ${id}`);
}

/** Lets one worker at a time decide about failover, until the end of the transaction. */
export async function claimFailOver(db: Db): Promise<boolean> {
  const row = await one<{ mine: boolean }>(db, sql`SELECT pg_try_advisory_xact_lock(724908, 0) AS mine`);
  return row.mine;
}

export type ConnectionSeen = {
  id: number;
  name: string;
  kind: ConnectionKind;
  status: string;
  up: boolean;
  bindsUp: number;
  bindsWanted: number;
  fault: string | null;
  /** The last thing that went wrong, at its links or with a message. */
  lastError: string | null;
  lastErrorAt: Date | null;
};

/** The connections and what all live workers together see of them. */
export async function listConnectionStatus(db: Db): Promise<ConnectionSeen[]> {
  return many(
    db,
    sql`SELECT c.id, c.name, c.kind, c.status, coalesce(bool_or(s.up), false) AS up, coalesce(sum(s.binds_up), 0)::int AS "bindsUp",
               coalesce(sum(s.binds_wanted), 0)::int AS "bindsWanted", max(s.fault) AS fault, e."lastError", e."lastErrorAt"
        FROM connection c
        LEFT JOIN connection_status s ON s.connection_id = c.id AND s.updated_at > now() - interval '1 minute'
        LEFT JOIN LATERAL (${LAST_ERROR}) AS e ON true
        GROUP BY c.id, e."lastError", e."lastErrorAt" ORDER BY c.id`,
  );
}

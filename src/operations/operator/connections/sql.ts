import type { ConnectionKind } from '../../../network/connections/kinds/kinds.ts';
import { IS_SHOWN, LAST_ERROR } from '../../../network/connections/sql.ts';
import type { Counts } from '../../../network/connections/tally.ts';
import { type Db, many, one, raw, sql } from '../../../platform/db/query.ts';
import { isOwnerAlive } from '../../../platform/db/worker-session.ts';
import { MISSED_AFTER } from '../../../network/dispatch/sql.ts';
import { ALL_ROUTES } from '../../../network/routing/sql.ts';

export type ConnectionRow = {
  id: number;
  name: string;
  kind: ConnectionKind;
  status: 'active' | 'paused';
  sandbox: boolean;
  settings: Record<string, unknown>;
  createdAt: Date;
  /** Its state, combined over all live workers. */
  up: boolean;
  downSince: Date | null;
  bindsUp: number;
  bindsWanted: number;
  workers: number;
  inFlight: number;
  perSecond: number;
  fault: string | null;
  lastError: string | null;
  lastErrorAt: Date | null;
  notices: { text: string; serious: boolean; at: string }[];
  queued: number;
  oldestSeconds: number;
  /** Number of accounts with messages that wait for it. */
  waitingAccounts: number;
  unknowns: number;
  unmatchedReceipts: number;
  routes: number;
  senders: number;
  numbers: number;
} & Counts;

/** State by connection `c.id`, as live workers saw it within the last minute. */
const SEEN = sql`
  SELECT coalesce(bool_or(s.up), false) AS up, coalesce(sum(s.binds_up), 0)::int AS "bindsUp",
         coalesce(sum(s.binds_wanted), 0)::int AS "bindsWanted", count(s.worker)::int AS workers,
         coalesce(sum(s.in_flight), 0)::int AS "inFlight", coalesce(sum(s.per_second), 0)::float8 AS "perSecond",
         max(s.fault) AS fault
  FROM connection_status s
  WHERE s.connection_id = c.id AND s.updated_at > now() - interval '1 minute' AND ${isOwnerAlive(raw('s.worker'))}`;

const LAST_HOUR = sql`
  SELECT coalesce(sum(m.accepted), 0)::bigint AS accepted, coalesce(sum(m.refused), 0)::bigint AS refused,
         coalesce(sum(m.retried), 0)::bigint AS retried, coalesce(sum(m.unknown), 0)::bigint AS unknown
  FROM connection_minute m
  WHERE m.connection_id = c.id AND m.minute > date_trunc('minute', now()) - interval '1 hour'`;

const QUEUE = sql`
  SELECT coalesce(sum(q.size - q.intent), 0)::bigint AS queued,
         count(DISTINCT q.account_id) FILTER (WHERE q.size > q.intent)::int AS "waitingAccounts",
         coalesce(extract(epoch FROM now() - min(q.available_at) FILTER (WHERE q.available_at <= now()
           AND (NOT q.scheduled OR q.available_at > now() - ${MISSED_AFTER}))), 0)::float8 AS "oldestSeconds"
  FROM dispatch_chunk q WHERE q.connection_id = c.id`;

/** Reports of the carrier by connection `c.id` in the last 30 days, the newest first. */
const NOTICES = sql`
  (SELECT coalesce(json_agg(json_build_object('text', n.text, 'serious', n.serious, 'at', n.at)
                            ORDER BY n.at DESC, n.subject), '[]')
   FROM connection_notice n WHERE n.connection_id = c.id AND n.at >= now() - interval '30 days')`;

/** A page of the connections, or the one of this name; without those of a retired sandbox. */
export async function listConnectionPage(
  db: Db,
  { name, limit, offset }: { name: string | null; limit: number; offset: number },
): Promise<ConnectionRow[]> {
  return many(
    db,
    sql`SELECT c.id, c.name, c.kind, c.status, c.sandbox, c.settings, c.created_at AS "createdAt",
               CASE WHEN c.status = 'active' AND NOT seen.up THEN d.since END AS "downSince", seen.*, hour.*, queue.*,
               error.*, ${NOTICES} AS notices,
               (SELECT count(*) FROM unknown_outcome o WHERE o.connection_id = c.id) AS unknowns,
               (SELECT count(*) FROM receipt_unmatched u WHERE u.connection_id = c.id) AS "unmatchedReceipts",
               (SELECT count(*) FROM ${ALL_ROUTES} AS r WHERE r.connection_id = c.id) AS routes,
               (SELECT count(*) FROM sender e WHERE e.connection_id = c.id) AS senders,
               (SELECT count(*) FROM inbound_number n WHERE n.connection_id = c.id) AS numbers
        FROM (SELECT * FROM connection c WHERE (${name}::text IS NULL OR name = ${name}) AND ${IS_SHOWN}
              ORDER BY id LIMIT ${limit} OFFSET ${offset}) AS c
        LEFT JOIN connection_down d ON d.connection_id = c.id
        CROSS JOIN LATERAL (${SEEN}) AS seen CROSS JOIN LATERAL (${LAST_HOUR}) AS hour
        CROSS JOIN LATERAL (${QUEUE}) AS queue LEFT JOIN LATERAL (${LAST_ERROR}) AS error ON true
        ORDER BY c.id`,
  );
}

export async function countConnections(db: Db): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM connection c WHERE ${IS_SHOWN}`)).total;
}

export type MinuteRow = Counts & { minute: Date };

/** The last 60 minutes of a connection, including the current minute and minutes without traffic. */
export async function listMinutes(db: Db, { connectionId }: { connectionId: number }): Promise<MinuteRow[]> {
  return many(
    db,
    sql`SELECT t.minute, coalesce(m.accepted, 0)::bigint AS accepted, coalesce(m.refused, 0)::bigint AS refused,
               coalesce(m.retried, 0)::bigint AS retried, coalesce(m.unknown, 0)::bigint AS unknown
        FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', date_trunc('minute', now()),
                             interval '1 minute') AS t (minute)
        LEFT JOIN connection_minute m ON m.connection_id = ${connectionId} AND m.minute = t.minute
        ORDER BY t.minute`,
  );
}

import type { Carrier, Notice, Outcome } from '../channels/carrier.ts';
import { bigint, boolean, int, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, plainArray, type RowOf, raw, sql } from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { AppError } from '../core/errors.ts';
import { maskNumbersIn } from '../core/phone.ts';
import type { ConnectionKind } from './kinds.ts';

export const unknownConnection = (name: string): AppError =>
  new AppError('not_found', { message: `There is no connection ${name}` });

/** Returns the connection with this name. Errors: 404. */
export async function connectionNamed(db: Db, name: string): Promise<Connection> {
  const connection = await findConnection(db, { name });
  if (!connection) throw unknownConnection(name);
  return connection;
}

/** Number of messages by outcome. */
export type Counts = { accepted: number; refused: number; retried: number; unknown: number };

type Figures = Counts & {
  /** Accepted messages per second since the last call of `take`. */
  readonly perSecond: number;
  /**
   * The carrier's last response to a message that it did not accept, numbers masked; null when there was none since the
   * start.
   */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
};

export type OutcomeCounter = {
  record(outcome: Outcome): void;
  /** Returns the figures since the last call, and starts again at 0. */
  take(): Figures;
};

const NOTHING: Counts = { accepted: 0, refused: 0, retried: 0, unknown: 0 };
const MAX_ERROR_LENGTH = 300;

export function createOutcomeCounter(now = () => new Date()): OutcomeCounter {
  let counts = { ...NOTHING };
  let since = performance.now();
  let last: Pick<Figures, 'lastError' | 'lastErrorAt'> = { lastError: null, lastErrorAt: null };
  const fail = (kind: keyof Counts, text: string): void => {
    counts[kind]++;
    last = { lastError: maskNumbersIn(text).slice(0, MAX_ERROR_LENGTH), lastErrorAt: now() };
  };
  return {
    record(outcome) {
      if (outcome.kind === 'accepted') counts.accepted++;
      else if (outcome.kind === 'unknown') fail('unknown', outcome.text);
      else if (outcome.kind === 'refused') fail('refused', describe(outcome));
      // The link had no room: the carrier was not asked.
      else if (outcome.code !== 'NOT_SENT') fail('retried', describe(outcome));
    },
    take() {
      const seconds = Math.max(0.001, (performance.now() - since) / 1000);
      const figures = { ...counts, perSecond: counts.accepted / seconds, ...last };
      counts = { ...NOTHING };
      since = performance.now();
      return figures;
    },
  };
}

const describe = ({ code, text }: { code: string; text: string }): string => (text === '' ? code : `${code} ${text}`);

export function counting(carrier: Carrier, outcomes: OutcomeCounter): Carrier {
  const record = (outcome: Outcome): Outcome => {
    outcomes.record(outcome);
    return outcome;
  };
  // Not an async function: that would cost each message a generator and another promise.
  return { ...carrier, submit: (submission) => carrier.submit(submission).then(record) };
}

const CONNECTION = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  kind: as<ConnectionKind>('kind'),
  status: as<'active' | 'paused'>('status'),
  sandbox: as<boolean>('sandbox'),
  /** An operator's decision about a connection of the sandbox; null: the setting SANDBOX decides. */
  sandboxState: as<'retired' | 'restored' | 'kept' | null>('sandbox_state'),
  settings: as<Record<string, unknown>>('settings'),
  /** Sealed; `secretOf` opens it. */
  secret: as<Buffer>('secret'),
  /** Raised by every change, so that running workers notice it. */
  version: as<number>('version'),
});
export type Connection = RowOf<typeof CONNECTION>;

/** Lists all connections, the oldest first. */
export async function listConnections(db: Db): Promise<Connection[]> {
  return many(db, sql`SELECT ${CONNECTION} FROM connection ORDER BY id`);
}

export async function findConnection(db: Db, { name }: { name: string }): Promise<Connection | undefined> {
  return maybeOne(db, sql`SELECT ${CONNECTION} FROM connection WHERE name = ${name}`);
}

/** Locks a connection: no other transaction can change it until this one ends. */
export async function claimConnection(db: Db, { name }: { name: string }): Promise<void> {
  await exec(db, sql`SELECT FROM connection WHERE name = ${name} FOR NO KEY UPDATE`);
}

/**
 * Inserts a connection without its secret, because its id is part of the context that seals the secret:
 * `updateConnectionSettings` follows. Returns undefined when the name is taken.
 */
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

/** Updates settings and secret; running workers rebuild the carrier. */
export async function updateConnectionSettings(
  db: Db,
  { id, settings, secret }: { id: number; settings: object; secret: Buffer },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE connection SET settings = ${JSON.stringify(settings)}::jsonb, secret = ${secret}, version = version + 1
        WHERE id = ${id}`,
  );
}

/** Pauses or resumes a connection; returns 0 when it has that status already. */
export async function moveConnectionStatus(
  db: Db,
  { name, status }: { name: string; status: 'active' | 'paused' },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE connection SET status = ${status}, version = version + 1 WHERE name = ${name} AND status <> ${status}`,
  );
}

/** True if connection `c` is in readiness, metrics and lists: those of a retired sandbox are not. */
export const IS_SHOWN = sql`c.sandbox_state IS DISTINCT FROM 'retired'`;

/** Explanation for a connection of a restored sandbox. */
export const STARTS_LATER = 'starts with the next start of the command serve';

/** Counts the connections that do not lead to the sandbox. */
export async function countRealConnections(db: Db): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM connection WHERE NOT sandbox`);
  return row.count;
}

/**
 * Returns true if the only connection outside the sandbox was added next to a sandbox about which no decision has been
 * made.
 */
export async function isFirstBesideSandbox(db: Db): Promise<boolean> {
  const row = await one<{ first: boolean }>(
    db,
    sql`SELECT count(*) FILTER (WHERE NOT sandbox) = 1
                 AND count(*) FILTER (WHERE sandbox AND sandbox_state IS NULL) > 0 AS first
        FROM connection`,
  );
  return row.first;
}

/** State of a connection as seen by one worker. */
export type ConnectionStatus = {
  readonly connectionId: number;
  readonly worker: number;
  readonly up: boolean;
  readonly bindsUp: number;
  readonly bindsWanted: number;
  readonly fault: string | null;
};

/** Inserts or replaces a worker's view of a connection. */
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

/**
 * Adds the figures of this worker's connections since the last call: to their status of this worker
 * (`ConnectionStatus`), and to the counts per minute.
 */
export async function updateConnectionFigures(
  db: Db,
  { worker, figures }: { worker: number; figures: readonly ConnectionFigures[] },
): Promise<void> {
  await exec(
    db,
    sql`WITH news AS (
          SELECT u.connection_id, u.in_flight, u.accepted, u.refused, u.retried, u.unknown, u.per_second, u.last_error,
                 u.last_error_at
          FROM ${rowsOf(figures, {
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

/**
 * Stores the reason why this worker lacks links of a connection now; kept until it has all of them
 * (`deleteConnectionErrors`).
 */
export async function insertConnectionError(
  db: Db,
  { connectionId, worker, reason }: { connectionId: number; worker: number; reason: string },
): Promise<void> {
  await exec(
    db,
    sql`WITH dead AS (
          DELETE FROM connection_error e
          WHERE e.connection_id = ${connectionId} AND e.worker <> ${worker} AND NOT ${isOwnerAlive(raw('e.worker'))})
        INSERT INTO connection_error (connection_id, worker, text)
        SELECT id, ${worker}, ${reason} FROM connection WHERE id = ${connectionId}
        ON CONFLICT (connection_id, worker) DO UPDATE SET text = excluded.text, at = now()`,
  );
}

/** Deletes the errors of this worker and of dead workers for connections of which this worker has all links now. */
export async function deleteConnectionErrors(
  db: Db,
  { worker, connectionIds }: { worker: number; connectionIds: readonly number[] },
): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM connection_error e
        WHERE e.connection_id = ANY(${plainArray(connectionIds)}::bigint[])
          AND (e.worker = ${worker} OR NOT ${isOwnerAlive(raw('e.worker'))})`,
  );
}

/** Selects, for connection `c.id`, the last error of its links or of a message; no row if there was none. */
export const LAST_ERROR = sql`
  SELECT u.text AS "lastError", u.at AS "lastErrorAt"
  FROM (SELECT text, at FROM connection_error WHERE connection_id = c.id
        UNION ALL
        SELECT s.last_error, s.last_error_at FROM connection_status s
        WHERE s.connection_id = c.id AND s.last_error IS NOT NULL AND s.updated_at > now() - interval '1 minute') AS u
  ORDER BY u.at DESC LIMIT 1`;

/** Deletes counts per minute that are older than any page shows. */
export async function deleteOldMinutes(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_minute WHERE minute < now() - interval '2 days'`);
}

/** Deletes a worker's view of a connection: when it stops, or when it no longer runs the connection. */
export async function deleteConnectionStatus(
  db: Db,
  { worker, connectionId }: { worker: number; connectionId: number },
): Promise<void> {
  await exec(db, sql`DELETE FROM connection_status WHERE worker = ${worker} AND connection_id = ${connectionId}`);
}

/** Deletes the views of workers that have not reported for a minute. */
export async function deleteStaleConnectionStatus(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_status WHERE updated_at < now() - interval '1 minute'`);
}

/** Deletes the views of dead workers, without waiting for that minute. */
export async function deleteDeadConnectionStatus(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_status WHERE NOT ${isOwnerAlive(raw('connection_status.worker'))}`);
}

/** The NOTIFY channel that every process follows: connections, routes, senders, prices or the restore guard changed. */
export const ROUTING_CHANNEL = 'heliograph_routing';

/** Makes all processes reload connections, routes, senders and prices once the transaction commits. */
export async function notifyRoutingChange(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${ROUTING_CHANNEL}, '')`);
}

export async function countUses(
  db: Db,
  { connectionId }: { connectionId: number },
): Promise<{ routes: number; senders: number }> {
  return one(
    db,
    sql`SELECT (SELECT count(*) FROM route WHERE connection_id = ${connectionId})
                 + (SELECT count(*) FROM conditional_route WHERE connection_id = ${connectionId}) AS routes,
               (SELECT count(*) FROM sender WHERE connection_id = ${connectionId}) AS senders`,
  );
}

/** The NOTIFY channel for changes in the workers' views of connections. */
export const LINKS_CHANNEL = 'heliograph_links';

/** Notifies all workers of a change in a worker's view of a connection. */
export async function notifyLinks(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${LINKS_CHANNEL}, 'changed')`);
}

const WORKERS_UP = columns({ connectionId: as<number>('connection_id'), workers: as<number>('count(*)::int') });

/** Counts, for each connection, the other workers that have it up. */
export async function listWorkersUp(db: Db, { besides }: { besides: number }): Promise<RowOf<typeof WORKERS_UP>[]> {
  return many(
    db,
    sql`SELECT ${WORKERS_UP} FROM connection_status s
        WHERE worker <> ${besides} AND ${SEES_IT_UP} GROUP BY connection_id`,
  );
}

/** True if, by row `s`, a live worker has a bind of the connection. */
const SEES_IT_UP = sql`s.up AND s.updated_at > now() - interval '1 minute'`;
const IS_UP = sql`EXISTS (SELECT FROM connection_status s WHERE s.connection_id = c.id AND ${SEES_IT_UP})`;

/**
 * Records which active connections no worker has up, and since when. After a gap of 15 s without a check, a connection
 * counts as down since now.
 */
export async function insertDownConnections(db: Db): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO connection_down AS d (connection_id)
        SELECT c.id FROM connection c WHERE c.status = 'active' AND NOT ${IS_UP} ORDER BY c.id
        ON CONFLICT (connection_id) DO UPDATE SET seen_at = now(),
          since = CASE WHEN d.seen_at < now() - interval '15 seconds' THEN now() ELSE d.since END`,
  );
}

/** Deletes the records of connections that are up again, or paused. */
export async function deleteDownConnections(db: Db): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM connection_down d USING connection c
        WHERE c.id = d.connection_id AND (c.status = 'paused' OR ${IS_UP})`,
  );
}

export type Reachability = {
  id: number;
  name: string;
  /** True if it can take messages. */
  up: boolean;
  /** True if it is paused, or has been down for so long that other connections should take its messages. */
  dead: boolean;
};

/** Lists which connections are up and which are dead; the rest is down, but not long enough. */
export async function listReachability(db: Db, { deadAfterMs }: { deadAfterMs: number }): Promise<Reachability[]> {
  return many(
    db,
    sql`SELECT c.id, c.name, c.status = 'active' AND ${IS_UP} AS up,
               c.status = 'paused'
                 OR coalesce(d.since <= now() - ${deadAfterMs} * interval '1 millisecond', false) AS dead
        FROM connection c LEFT JOIN connection_down d ON d.connection_id = c.id ORDER BY c.id`,
  );
}

/** Deletes a connection. Fails (23503) while routes or numbers refer to it. */
export async function deleteConnection(db: Db, { id }: { id: number }): Promise<number> {
  return exec(db, sql`DELETE FROM connection WHERE id = ${id}`);
}

/**
 * Takes the lock that lets one worker at a time decide about failover, until the transaction ends; false when it is
 * taken.
 */
export async function claimFailOver(db: Db): Promise<boolean> {
  const row = await one<{ mine: boolean }>(db, sql`SELECT pg_try_advisory_xact_lock(724908, 0) AS mine`);
  return row.mine;
}

const SUMMARY = columns({
  id: as<number>('c.id'),
  name: as<string>('c.name'),
  kind: as<ConnectionKind>('c.kind'),
  status: as<Connection['status']>('c.status'),
  /** True for a restored sandbox: paused until the next start of the command `serve`. */
  startsLater: as<boolean>("c.sandbox_state IS NOT DISTINCT FROM 'restored'"),
  up: as<boolean>('coalesce(bool_or(s.up), false)'),
  bindsUp: as<number>('coalesce(sum(s.binds_up), 0)::int'),
  bindsWanted: as<number>('coalesce(sum(s.binds_wanted), 0)::int'),
  fault: as<string | null>('max(s.fault)'),
  /** The last error of its links or of a message. */
  lastError: as<string | null>('e."lastError"'),
  lastErrorAt: as<Date | null>('e."lastErrorAt"'),
});
export type ConnectionSummary = RowOf<typeof SUMMARY>;

/** Lists the connections with their state, combined over all live workers; without those of a retired sandbox. */
export async function listConnectionStatus(db: Db): Promise<ConnectionSummary[]> {
  return many(
    db,
    sql`SELECT ${SUMMARY}
        FROM connection c
        LEFT JOIN connection_status s ON s.connection_id = c.id AND s.updated_at > now() - interval '1 minute'
        LEFT JOIN LATERAL (${LAST_ERROR}) AS e ON true
        WHERE ${IS_SHOWN}
        GROUP BY c.id, e."lastError", e."lastErrorAt" ORDER BY c.id`,
  );
}

/** Inserts notices of a connection, or replaces those of the same subject, and deletes old ones. */
export async function insertNotices(
  db: Db,
  { connectionId, notices }: { readonly connectionId: number; readonly notices: readonly Notice[] },
): Promise<void> {
  if (notices.length === 0) return;
  const newest = [...new Map(notices.map((notice) => [notice.subject, notice])).values()];
  await exec(
    db,
    sql`WITH old AS (
          DELETE FROM connection_notice n WHERE n.connection_id = ${connectionId} AND n.at < now() - interval '30 days')
        INSERT INTO connection_notice AS n (connection_id, subject, text, serious)
        SELECT c.id, u.subject, u.text, u.serious
        FROM connection c, ${rowsOf(newest, {
          subject: text((n) => n.subject),
          text: text((n) => n.text),
          serious: boolean((n) => n.serious),
        })} AS u
        WHERE c.id = ${connectionId} ORDER BY u.subject
        ON CONFLICT (connection_id, subject)
        DO UPDATE SET text = excluded.text, serious = excluded.serious, at = now()`,
  );
}

const NOTICE = columns({
  connection: as<string>('c.name'),
  text: as<string>('n.text'),
  at: as<Date>('n.at'),
});

/** Lists the serious notices of the past week, the newest first. */
export async function listSeriousNotices(db: Db): Promise<RowOf<typeof NOTICE>[]> {
  return many(
    db,
    sql`SELECT ${NOTICE} FROM connection_notice n JOIN connection c ON c.id = n.connection_id
        WHERE n.serious AND n.at > now() - interval '7 days' ORDER BY n.at DESC, n.subject`,
  );
}

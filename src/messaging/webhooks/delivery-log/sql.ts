import { bigint, int, json, rowsOf, smallint, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import type { Want, WebhookEventKind } from '../outbox/sql.ts';

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** An event of an account. */
export type EventKey = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly EventKey[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });

/** An attempt that failed, as the log keeps it. */
export type FailedAttempt = {
  readonly at: string;
  readonly code: number | null;
  readonly reason: string | null;
  readonly ms: number;
  /** The beginning of the body of the answer. */
  readonly answer?: string | null;
};

export type LogEntry = EventKey & {
  readonly messageId: string;
  readonly kind: WebhookEventKind;
  readonly status: number | null;
  readonly at: Date;
  readonly error: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly responseCode: number | null;
  readonly durationMs: number | null;
  readonly failure: string | null;
  readonly nextAttemptAt: Date | null;
  /** When the last attempt began; null: there was none. */
  readonly triedAt: Date | null;
  /** The beginning of the body of its answer. */
  readonly answer: string | null;
  /** The attempt that this entry tells of, if it failed. */
  readonly failed: FailedAttempt | null;
};

/** Writes what became of events, each at most once in a call: new entries, and what changed in those that stand there. */
export async function insertLog(db: Db, entries: readonly LogEntry[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO webhook_delivery AS d (account_id, id, message_id, kind, status, at, error, state, attempts,
                                           response_code, duration_ms, failure, next_attempt_at, tried_at, answer,
                                           failures)
        SELECT * FROM ${rowsOf(entries, {
          account_id: bigint((e) => e.accountId),
          id: uuid((e) => e.id),
          message_id: uuid((e) => e.messageId),
          kind: text((e) => e.kind),
          status: smallint((e) => e.status),
          at: timestamptz((e) => e.at),
          error: text((e) => e.error),
          state: text((e) => e.state),
          attempts: smallint((e) => e.attempts),
          response_code: smallint((e) => e.responseCode),
          duration_ms: int((e) => e.durationMs),
          failure: text((e) => e.failure),
          next_attempt_at: timestamptz((e) => e.nextAttemptAt),
          tried_at: timestamptz((e) => e.triedAt),
          answer: text((e) => e.answer),
          failures: json((e) => (e.failed === null ? '[]' : JSON.stringify([e.failed]))),
        })} AS u
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE
          SET state = excluded.state, attempts = excluded.attempts, response_code = excluded.response_code,
              duration_ms = excluded.duration_ms, failure = excluded.failure,
              next_attempt_at = excluded.next_attempt_at, updated_at = now(),
              tried_at = coalesce(excluded.tried_at, d.tried_at), answer = excluded.answer,
              failures = d.failures || excluded.failures`,
  );
}

export type Retry = EventKey & {
  readonly messageId: string;
  readonly seq: number;
  /** Null: when the event before it, of the same message, has come to its end. */
  readonly dueAt: Date | null;
};

/** Plans the next attempts. */
export async function insertRetries(db: Db, retries: readonly Retry[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO webhook_retry (account_id, id, message_id, seq, due_at)
        SELECT * FROM ${rowsOf(retries, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          message_id: uuid((r) => r.messageId),
          seq: bigint((r) => r.seq),
          due_at: timestamptz((r) => r.dueAt),
        })} AS u
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE SET due_at = excluded.due_at`,
  );
}

/**
 * Removes events that have come to their end from those to be tried again, and lets the next one of each of their
 * messages go.
 */
export async function deleteRetries(db: Db, ended: readonly (EventKey & { messageId: string })[]): Promise<void> {
  await exec(
    db,
    sql`WITH ended AS (SELECT * FROM ${rowsOf(ended, {
      account_id: bigint((e) => e.accountId),
      id: uuid((e) => e.id),
      message_id: uuid((e) => e.messageId),
    })} AS u),
        gone AS (DELETE FROM webhook_retry r USING ended e WHERE r.account_id = e.account_id AND r.id = e.id),
        next AS (
          SELECT DISTINCT ON (w.account_id, w.message_id) w.account_id, w.id, w.due_at
          FROM ended e JOIN webhook_retry w ON w.account_id = e.account_id AND w.message_id = e.message_id
          WHERE w.id NOT IN (SELECT id FROM ended) ORDER BY w.account_id, w.message_id, w.seq)
        UPDATE webhook_retry n SET due_at = now() FROM next
        WHERE n.account_id = next.account_id AND n.id = next.id AND next.due_at IS NULL`,
  );
}

/** Which of these events are in the log; all their ids lie in [firstId, lastId]. */
export async function listLogged(
  db: Db,
  { keys, firstId, lastId }: { keys: readonly EventKey[]; firstId: string; lastId: string },
): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT d.id FROM ${keysOf(keys)} AS u JOIN webhook_delivery d ON d.account_id = u.account_id AND d.id = u.id
        WHERE d.id BETWEEN ${firstId} AND ${lastId}`,
  );
  return new Set(rows.map((row) => row.id));
}

/** Which of these messages have events that wait for another attempt. */
export async function listWaitingMessages(
  db: Db,
  { messages }: { messages: readonly EventKey[] },
): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT DISTINCT r.message_id AS id FROM ${keysOf(messages)} AS u
        JOIN webhook_retry r ON r.account_id = u.account_id AND r.message_id = u.id`,
  );
  return new Set(rows.map((row) => row.id));
}

export type DueRetry = Omit<Retry, 'dueAt'> & Pick<LogEntry, 'kind' | 'status' | 'at' | 'error' | 'attempts'>;

/** The events of these accounts whose next attempt is due, so many of each, without those that are held already. */
export async function listDueRetries(
  db: Db,
  { wants, heldIds }: { wants: readonly Want[]; heldIds: readonly string[] },
): Promise<DueRetry[]> {
  return many(
    db,
    sql`SELECT r.account_id AS "accountId", r.id, r.message_id AS "messageId", r.seq, d.kind, d.status,
               d.at, d.error, d.attempts
        FROM ${rowsOf(wants, { account_id: bigint((w) => w.accountId), most: int((w) => w.limit) })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_retry w
          WHERE w.account_id = u.account_id AND w.due_at <= now() AND w.id <> ALL(${plainArray(heldIds)}::uuid[])
          ORDER BY w.due_at LIMIT u.most
        ) AS r
        JOIN webhook_delivery d ON d.account_id = r.account_id AND d.id = r.id
        ORDER BY r.due_at, r.seq`,
  );
}

export type Delivery = Omit<LogEntry, 'accountId' | 'failed'> & {
  readonly updatedAt: Date;
  readonly failures: readonly FailedAttempt[];
};

const DELIVERY = sql`id, message_id AS "messageId", kind, status, at, error, state, attempts, response_code AS "responseCode",
  duration_ms AS "durationMs", failure, next_attempt_at AS "nextAttemptAt", tried_at AS "triedAt", answer,
  updated_at AS "updatedAt", failures`;

/** What is null is not asked for; the events lie in [firstId, beforeId). */
export type DeliveryFilter = {
  readonly accountId: number;
  readonly state: DeliveryState | null;
  readonly kind: WebhookEventKind | null;
  readonly messageId: string | null;
  readonly firstId: string | null;
  readonly beforeId: string | null;
};

const fits = ({ accountId, state, kind, messageId, firstId, beforeId }: DeliveryFilter) => sql`
  account_id = ${accountId} AND ${isIn(state)} AND (${kind}::text IS NULL OR kind = ${kind})
  AND (${messageId}::uuid IS NULL OR message_id = ${messageId})
  AND (${firstId}::uuid IS NULL OR id >= ${firstId}) AND (${beforeId}::uuid IS NULL OR id < ${beforeId})`;

/** The log of an account, the newest events first. */
export async function listDeliveries(
  db: Db,
  { limit, offset, ...filter }: DeliveryFilter & { limit: number; offset: number },
): Promise<Delivery[]> {
  return many(
    db,
    sql`SELECT ${DELIVERY} FROM webhook_delivery
        WHERE ${fits(filter)} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countDeliveries(db: Db, filter: DeliveryFilter): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM webhook_delivery WHERE ${fits(filter)}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** Said twice for the states that have an index of their own: the planner must see that they are not DELIVERED. */
const isIn = (state: DeliveryState | null) => {
  if (state === null) return sql`true`;
  return state === 'DELIVERED' ? sql`state = 'DELIVERED'` : sql`state = ${state} AND state <> 'DELIVERED'`;
};

/** What the webhook was told of one message; the events are not older than it. */
export async function listDeliveriesOf(
  db: Db,
  { accountId, messageId, firstId }: { accountId: number; messageId: string; firstId: string },
): Promise<Delivery[]> {
  return many(
    db,
    sql`SELECT ${DELIVERY} FROM webhook_delivery
        WHERE account_id = ${accountId} AND message_id = ${messageId} AND id >= ${firstId} ORDER BY id`,
  );
}

/** Most events that one call asks for again. */
const REPLAYED_AT_ONCE = 100_000;

type Range = { readonly firstId: string; readonly lastId: string; readonly state: DeliveryState | null };

/**
 * Plans another attempt, now, for the oldest events of an account in [firstId, lastId] that are in this state (null: in
 * any), up to 100,000, as if they had not been tried. Those that wait behind an earlier event stay there. Answers how
 * many there are.
 */
export async function moveToReplayed(
  db: Db,
  { accountId, firstId, lastId, state }: { accountId: number } & Range,
): Promise<number> {
  return exec(
    db,
    sql`WITH chosen AS (
          SELECT id FROM webhook_delivery d
          WHERE account_id = ${accountId} AND id BETWEEN ${firstId} AND ${lastId} AND ${isIn(state)}
            AND NOT EXISTS (SELECT FROM webhook_retry r
                            WHERE r.account_id = ${accountId} AND r.id = d.id AND r.due_at IS NULL)
          ORDER BY id LIMIT ${REPLAYED_AT_ONCE} FOR UPDATE),
        moved AS (
          UPDATE webhook_delivery d SET state = 'PENDING', attempts = 0, next_attempt_at = now(), updated_at = now()
          FROM chosen c WHERE d.account_id = ${accountId} AND d.id = c.id AND d.id BETWEEN ${firstId} AND ${lastId}
          RETURNING d.account_id, d.id, d.message_id)
        INSERT INTO webhook_retry (account_id, id, message_id, due_at)
        SELECT account_id, id, message_id, now() FROM moved ORDER BY account_id, id
        ON CONFLICT (account_id, id) DO UPDATE SET due_at = least(webhook_retry.due_at, excluded.due_at)`,
  );
}

/** One entry of an account's log. */
export async function findDelivery(db: Db, { accountId, id }: EventKey): Promise<Delivery | undefined> {
  return maybeOne(db, sql`SELECT ${DELIVERY} FROM webhook_delivery WHERE account_id = ${accountId} AND id = ${id}`);
}

/** Of all accounts together: events that wait in the outbox, that wait for another attempt, and that were given up. */
export async function countEvents(db: Db): Promise<{ fresh: number; waiting: number; dead: number }> {
  return one(
    db,
    sql`SELECT (SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint AS fresh,
               (SELECT count(*) FROM webhook_retry) AS waiting,
               (SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED') AS dead`,
  );
}

/** The same by account, for the operator's list; accounts without any are left out. */
export async function listEventCounts(db: Db): Promise<{ accountId: number; pending: number; dead: number }[]> {
  return many(
    db,
    sql`SELECT account_id AS "accountId", sum(pending)::bigint AS pending, sum(dead)::bigint AS dead
        FROM (SELECT account_id, sum(cardinality(message_ids)) AS pending, 0 AS dead FROM webhook_outbox GROUP BY 1
              UNION ALL SELECT account_id, count(*), 0 FROM webhook_retry GROUP BY 1
              UNION ALL SELECT account_id, 0, count(*) FROM webhook_delivery
                        WHERE state = 'DEAD' AND state <> 'DELIVERED' GROUP BY 1) AS c
        GROUP BY account_id ORDER BY account_id`,
  );
}

import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import type { DeliveryState, EventKey, FailedAttempt } from './log.ts';

const DELIVERY = columns({
  id: as<string>('id'),
  endpoint: as<number>('endpoint'),
  messageId: as<string>('message_id'),
  kind: as<string>('kind'),
  data: as<object | null>('data'),
  status: as<number | null>('status'),
  at: as<Date>('at'),
  error: as<string | null>('error'),
  state: as<DeliveryState>('state'),
  attempts: as<number>('attempts'),
  responseCode: as<number | null>('response_code'),
  durationMs: as<number | null>('duration_ms'),
  failure: as<string | null>('failure'),
  nextAttemptAt: as<Date | null>('next_attempt_at'),
  /** Start of the last attempt; null: there was none. */
  triedAt: as<Date | null>('tried_at'),
  /** The first bytes of its response body. */
  answer: as<string | null>('answer'),
  updatedAt: as<Date>('updated_at'),
  failures: as<readonly FailedAttempt[]>('failures'),
});
/** An entry of the log of an account. */
export type Delivery = RowOf<typeof DELIVERY>;

/** A filter of the log; null fields do not filter. The events lie in [firstId, beforeId). */
export type DeliveryFilter = {
  readonly accountId: number;
  readonly endpoint: number;
  readonly state: DeliveryState | null;
  readonly kind: string | null;
  /** Statuses of the kind; null: all. */
  readonly statuses: readonly number[] | null;
  readonly messageId: string | null;
  readonly firstId: string | null;
  readonly beforeId: string | null;
};

const fits = ({ accountId, endpoint, state, kind, statuses, messageId, firstId, beforeId }: DeliveryFilter) => sql`
  account_id = ${accountId} AND endpoint = ${endpoint} AND ${isIn(state)} AND (${kind}::text IS NULL OR kind = ${kind})
  AND ${statuses === null ? sql`true` : sql`status = ANY(${plainArray(statuses)}::smallint[])`}
  AND (${messageId}::uuid IS NULL OR message_id = ${messageId})
  AND (${firstId}::uuid IS NULL OR id >= ${firstId}) AND (${beforeId}::uuid IS NULL OR id < ${beforeId})`;

/** Lists the log of an endpoint, newest events first. */
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

/** Counts the entries of the log that fit the filter. */
export const countDeliveries = (db: Db, filter: DeliveryFilter): Promise<number> =>
  countRows(db, sql`FROM webhook_delivery WHERE ${fits(filter)}`);

/** States with a partial index are named twice: the planner must see that they are not DELIVERED. */
const isIn = (state: DeliveryState | null) => {
  if (state === null) return sql`true`;
  return state === 'DELIVERED' ? sql`state = 'DELIVERED'` : sql`state = ${state} AND state <> 'DELIVERED'`;
};

/** Lists the events of one message, oldest first; `firstId` is the id of the earliest possible event. */
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

/** Events per call of a replay. */
export const MAX_REPLAYED = 100_000;

type Range = {
  readonly accountId: number;
  readonly endpoint: number;
  readonly firstId: string;
  readonly lastId: string;
  readonly state: DeliveryState | null;
};

/**
 * Makes the oldest events of an endpoint in [firstId, lastId] with this state (null: any) due now, up to 100,000, as if
 * they had never been tried. Events that wait behind an earlier one stay there. Returns how many became due.
 */
export async function moveToReplayed(db: Db, { accountId, endpoint, firstId, lastId, state }: Range): Promise<number> {
  return exec(
    db,
    sql`WITH chosen AS (
          SELECT id FROM webhook_delivery d
          WHERE account_id = ${accountId} AND endpoint = ${endpoint}
            AND id BETWEEN ${firstId} AND ${lastId} AND ${isIn(state)}
            AND NOT EXISTS (SELECT FROM webhook_retry r WHERE r.account_id = ${accountId} AND r.id = d.id
                            AND r.endpoint = ${endpoint} AND r.due_at IS NULL)
          ORDER BY id LIMIT ${MAX_REPLAYED} FOR UPDATE),
        moved AS (
          UPDATE webhook_delivery d SET state = 'PENDING', attempts = 0, next_attempt_at = now(), updated_at = now()
          FROM chosen c WHERE d.account_id = ${accountId} AND d.endpoint = ${endpoint} AND d.id = c.id
            AND d.id BETWEEN ${firstId} AND ${lastId}
          RETURNING d.account_id, d.endpoint, d.id, d.message_id)
        INSERT INTO webhook_retry (account_id, endpoint, id, message_id, due_at)
        SELECT account_id, endpoint, id, message_id, now() FROM moved ORDER BY account_id, id
        ON CONFLICT (account_id, id, endpoint) DO UPDATE SET due_at = least(webhook_retry.due_at, excluded.due_at)`,
  );
}

/** Finds one entry of an endpoint's log. */
export async function findDelivery(db: Db, { accountId, endpoint, id }: EventKey): Promise<Delivery | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${DELIVERY} FROM webhook_delivery
        WHERE account_id = ${accountId} AND id = ${id} AND endpoint = ${endpoint}`,
  );
}

/** Counts, over all accounts, the events in the outbox, those that wait for another attempt, and the dead ones. */
export async function countEvents(db: Db): Promise<{ fresh: number; waiting: number; dead: number }> {
  return one(
    db,
    sql`SELECT (SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint AS fresh,
               (SELECT count(*) FROM webhook_retry) AS waiting,
               (SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED') AS dead`,
  );
}

/** Lists pending and dead events by account, for the operator; accounts without any are omitted. */
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

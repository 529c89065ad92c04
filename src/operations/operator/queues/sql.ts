import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { MISSED_AFTER } from '../../../network/dispatch/sql.ts';

/** Rows `c` of the queue that are due: not in the future, and no schedule that was missed. */
const DUE = sql`(c.available_at <= now() AND (NOT c.scheduled OR c.available_at > now() - ${MISSED_AFTER}))`;
const MISSED = sql`(c.scheduled AND c.available_at <= now() - ${MISSED_AFTER})`;
/** Messages of a row that nobody has written yet, and those that may be with the carrier. */
const SUMS = sql`
  coalesce(sum(c.size - c.intent) FILTER (WHERE ${DUE} AND c.parked_until IS NULL), 0)::bigint AS waiting,
  coalesce(sum(c.size - c.intent) FILTER (WHERE c.available_at > now()), 0)::bigint AS scheduled,
  coalesce(sum(c.size - c.intent) FILTER (WHERE ${MISSED}), 0)::bigint AS missed,
  coalesce(sum(c.intent), 0)::bigint AS "inFlight",
  coalesce(sum(c.size - c.intent) FILTER (WHERE c.parked_until IS NOT NULL), 0)::bigint AS parked,
  extract(epoch FROM now() - min(c.available_at) FILTER (WHERE ${DUE} AND c.parked_until IS NULL))::float8
    AS "oldestSeconds"`;

export type Depth = {
  waiting: number;
  scheduled: number;
  missed: number;
  inFlight: number;
  parked: number;
  oldestSeconds: number | null;
};

export async function findDepth(db: Db): Promise<Depth> {
  return one(db, sql`SELECT ${SUMS} FROM dispatch_chunk c`);
}

export type DepthRow = Depth & { accountId: number; account: string; connection: string | null; priority: number };

type Filter = { readonly accountId: number | null; readonly connection: string | null };

/** By account, connection and priority; whoever waits most comes first. */
const groups = ({ accountId, connection }: Filter) => sql`
  SELECT c.account_id AS "accountId", a.name AS account, k.name AS connection, c.priority, ${SUMS}
  FROM dispatch_chunk c JOIN account a ON a.id = c.account_id LEFT JOIN connection k ON k.id = c.connection_id
  WHERE (${accountId}::bigint IS NULL OR c.account_id = ${accountId})
    AND (${connection}::text IS NULL OR k.name = ${connection})
  GROUP BY c.account_id, a.name, k.name, c.priority`;

export async function listDepths(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<DepthRow[]> {
  return many(
    db,
    sql`SELECT * FROM (${groups(filter)}) AS g ORDER BY waiting DESC, "accountId", connection, priority
        LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countDepths(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM (${groups(filter)}) AS g`)).total;
}

export type Backlog = { name: string; waiting: number; oldestSeconds: number | null };

const since = (at: ReturnType<typeof sql>) => sql`extract(epoch FROM now() - ${at})::float8`;

/** What waits for each pipeline behind the interface, as far as it is due. */
export async function listBacklogs(db: Db): Promise<Backlog[]> {
  return many(
    db,
    sql`SELECT 'receipts' AS name, count(*) AS waiting, ${since(sql`min(received_at)`)} AS "oldestSeconds"
        FROM receipt_batch
        UNION ALL SELECT 'unmatched receipts', count(*), ${since(sql`min(received_at)`)} FROM receipt_unmatched
        UNION ALL SELECT 'campaigns', count(*), ${since(sql`min(due_at)`)} FROM campaign_job WHERE due_at <= now()
        UNION ALL SELECT 'imports', count(*), ${since(sql`min(due_at)`)} FROM contact_import_job WHERE due_at <= now()
        UNION ALL SELECT 'exports', count(*), ${since(sql`min(due_at)`)} FROM export_job WHERE due_at <= now()
        UNION ALL SELECT 'fallbacks', count(*), ${since(sql`min(due_at)`)} FROM message_fallback WHERE due_at <= now()
        UNION ALL SELECT 'webhook retries', count(*), ${since(sql`min(due_at)`)} FROM webhook_retry WHERE due_at <= now()`,
  );
}

export type WebhookBacklog = { fresh: number; retrying: number; dead: number; oldestSeconds: number | null };

/** Events of all accounts: never tried, to be tried again, given up; and the age of the oldest that was never tried. */
export async function findWebhookBacklog(db: Db): Promise<WebhookBacklog> {
  return one(
    db,
    sql`SELECT (SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint AS fresh,
               (SELECT count(*) FROM webhook_retry) AS retrying,
               (SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED') AS dead,
               (SELECT ${since(sql`min(uuid_extract_timestamp(seed))`)} FROM webhook_outbox) AS "oldestSeconds"`,
  );
}

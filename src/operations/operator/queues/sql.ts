import { MISSED_AFTER } from '../../../network/dispatch/sql.ts';
import { timeOf } from '../../../platform/db/id-time.ts';
import { type Db, many, one, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** The chunks `c` that are due: not in the future, and not a missed schedule. */
const DUE = sql`(c.available_at <= now() AND (NOT c.scheduled OR c.available_at > now() - ${MISSED_AFTER}))`;
const MISSED = sql`(c.scheduled AND c.available_at <= now() - ${MISSED_AFTER})`;

/** The messages up to the intent of a chunk may be with the carrier; the others have not been written yet. */
const DEPTH = columns({
  waiting: as<number>(
    sql`coalesce(sum(c.size - c.intent) FILTER (WHERE ${DUE} AND c.parked_until IS NULL), 0)::bigint`,
  ),
  scheduled: as<number>('coalesce(sum(c.size - c.intent) FILTER (WHERE c.available_at > now()), 0)::bigint'),
  missed: as<number>(sql`coalesce(sum(c.size - c.intent) FILTER (WHERE ${MISSED}), 0)::bigint`),
  inFlight: as<number>('coalesce(sum(c.intent), 0)::bigint'),
  parked: as<number>('coalesce(sum(c.size - c.intent) FILTER (WHERE c.parked_until IS NOT NULL), 0)::bigint'),
  oldestSeconds: as<number | null>(
    sql`extract(epoch FROM now() - min(c.available_at) FILTER (WHERE ${DUE} AND c.parked_until IS NULL))::float8`,
  ),
});
export type Depth = RowOf<typeof DEPTH>;

/** Counts the messages in the queue, over all accounts and connections. */
export async function findDepth(db: Db): Promise<Depth> {
  return one(db, sql`SELECT ${DEPTH} FROM dispatch_chunk c`);
}

const GROUP = columns({
  accountId: as<number>('c.account_id'),
  account: as<string>('a.name'),
  /** Null when the connection was removed. */
  connection: as<string | null>('k.name'),
  priority: as<number>('c.priority'),
});
export type DepthRow = RowOf<typeof GROUP> & Depth;

type Filter = { readonly accountId: number | null; readonly connection: string | null };

const groups = ({ accountId, connection }: Filter): Sql => sql`
  SELECT ${GROUP}, ${DEPTH}
  FROM dispatch_chunk c JOIN account a ON a.id = c.account_id LEFT JOIN connection k ON k.id = c.connection_id
  WHERE (${accountId}::bigint IS NULL OR c.account_id = ${accountId})
    AND (${connection}::text IS NULL OR k.name = ${connection})
  GROUP BY c.account_id, a.name, k.name, c.priority`;

/** Lists a page of the queue by account, connection and priority; those with the most waiting messages come first. */
export async function listDepths(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<DepthRow[]> {
  return many<DepthRow>(
    db,
    sql`SELECT * FROM (${groups(filter)}) AS g ORDER BY waiting DESC, "accountId", connection, priority
        LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

/** Counts the groups that `listDepths` lists. */
export async function countDepths(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM (${groups(filter)}) AS g`)).total;
}

export type Backlog = { name: string; waiting: number; oldestSeconds: number | null };

const since = (at: Sql): Sql => sql`extract(epoch FROM now() - ${at})::float8`;

/** Lists the due work in the queue of each background process. */
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

const WEBHOOK_BACKLOG = columns({
  /** Events that were never tried. */
  fresh: as<number>('(SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint'),
  /** Events that wait for another attempt. */
  retrying: as<number>('(SELECT count(*) FROM webhook_retry)'),
  /** Events that were given up. */
  dead: as<number>(`(SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED')`),
  /** The age of the oldest event that was never tried. */
  oldestSeconds: as<number | null>(sql`(SELECT ${since(sql`min(${timeOf(sql`seed`)})`)} FROM webhook_outbox)`),
});
export type WebhookBacklog = RowOf<typeof WEBHOOK_BACKLOG>;

/** Counts the webhook events of all accounts that wait or were given up. */
export async function findWebhookBacklog(db: Db): Promise<WebhookBacklog> {
  return one(db, sql`SELECT ${WEBHOOK_BACKLOG}`);
}

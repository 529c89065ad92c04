import { type Db, join, many, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Attention, AttentionKind } from '../schema.ts';

type Of = { readonly accountId: number };

/** As it comes from the database. */
export type AttentionRow = Omit<Attention, 'since'> & { readonly since: Date | null };

/** Newest rows looked at for failures: more are listed by their own pages. */
const NEWEST = raw('200');
const LATELY = sql`now() - interval '7 days'`;
/** Unknown outcomes counted: the console says "10,000 or more". */
const MOST_UNKNOWNS = raw('10000');

const COLUMNS = raw('kind, severity, count, subject, "subjectId", since, detail');
/** A NULL alone has no type that the others could agree with. */
const TYPED = raw('kind, severity, count::int, subject, "subjectId", since::timestamptz, detail');

/** Rows of one kind: the values of COLUMNS but the first, and where they come from. */
const kindOf = (kind: AttentionKind, values: Sql, from: Sql): Sql =>
  sql`SELECT ${raw(`'${kind}'`)}::text, ${values} ${from}`;

const SOURCES: Readonly<Partial<Record<AttentionKind, (accountId: number) => Sql>>> = {
  webhook_failing: (id) =>
    kindOf(
      'webhook_failing',
      sql`'warning', NULL, NULL, NULL, failing_since, NULL`,
      sql`FROM webhook_endpoint WHERE account_id = ${id} AND status = 'active' AND failing_since IS NOT NULL`,
    ),
  webhook_disabled: (id) =>
    kindOf(
      'webhook_disabled',
      sql`'error', NULL, NULL, NULL, updated_at, disabled_reason`,
      sql`FROM webhook_endpoint WHERE account_id = ${id} AND status = 'disabled'`,
    ),
  unknown_outcomes: (id) =>
    kindOf(
      'unknown_outcomes',
      sql`'warning', count(*)::int, NULL, NULL, min(created_at), NULL`,
      sql`FROM (SELECT created_at FROM unknown_outcome WHERE account_id = ${id} LIMIT ${MOST_UNKNOWNS}) AS u
          HAVING count(*) > 0`,
    ),
  campaign_failed: (id) =>
    kindOf(
      'campaign_failed',
      sql`'error', NULL, name, id::text, completed_at, failure_reason`,
      sql`FROM campaign WHERE account_id = ${id} AND status = 4 AND completed_at > ${LATELY}`,
    ),
  // A person who pauses one gives no reason, and knows.
  campaign_paused: (id) =>
    kindOf(
      'campaign_paused',
      sql`'warning', NULL, name, id::text, paused_at, failure_reason`,
      sql`FROM campaign WHERE account_id = ${id} AND status IN (1, 2) AND confirmed_at IS NOT NULL
            AND paused_at IS NOT NULL AND cancelled_at IS NULL AND failure_reason IS NOT NULL`,
    ),
  import_failed: (id) =>
    kindOf(
      'import_failed',
      sql`'warning', NULL, file_name, id::text, completed_at, failure`,
      sql`FROM (SELECT * FROM contact_import WHERE account_id = ${id} ORDER BY id DESC LIMIT ${NEWEST}) AS i
          WHERE status = 'FAILED' AND completed_at > ${LATELY}`,
    ),
  export_failed: (id) =>
    kindOf(
      'export_failed',
      sql`'warning', NULL, type, id::text, completed_at, failure`,
      sql`FROM (SELECT * FROM export WHERE account_id = ${id} ORDER BY id DESC LIMIT ${NEWEST}) AS e
          WHERE status = 'FAILED' AND completed_at > ${LATELY}`,
    ),
  social_disconnected: (id) =>
    kindOf(
      'social_disconnected',
      sql`'warning', NULL, profile_name, platform, NULL, disconnected`,
      sql`FROM social_profile WHERE account_id = ${id} AND disconnected IS NOT NULL`,
    ),
  template_rejected: (id) =>
    kindOf(
      'template_rejected',
      sql`'warning', NULL, name, id, updated_at, coalesce(reason, status)`,
      sql`FROM template WHERE owner_id = ${id} AND status IN ('REJECTED', 'PAUSED', 'DISABLED') AND updated_at > ${LATELY}`,
    ),
};

/** What an account's own rows say, of these kinds: fifty of each at most, the newest first. */
export async function listAttention(
  db: Db,
  { accountId, kinds }: Of & { kinds: readonly AttentionKind[] },
): Promise<AttentionRow[]> {
  const sources = kinds.flatMap((kind) => SOURCES[kind]?.(accountId) ?? []);
  if (sources.length === 0) return [];
  const limited = sources.map(
    (source) => sql`(SELECT ${TYPED} FROM (${source}) AS s (${COLUMNS}) ORDER BY since DESC LIMIT 50)`,
  );
  return many(db, join(limited, ' UNION ALL '));
}

/**
 * Connections that messages of an account go over and that no worker has up: of the routes of its channels, and of its
 * senders. `covered`: for each of its routes another one is up. For the owner of the database: accounts may not read these.
 */
export const listDownConnections = (
  db: Db,
  { accountId, channels }: Of & { channels: readonly Channel[] },
): Promise<{ name: string; since: Date | null; covered: boolean }[]> =>
  many(
    db,
    sql`WITH used AS (
          SELECT connection_id, channel || '/' || prefix AS way FROM route
          WHERE channel = 'SMS' AND channel = ANY(${[...channels]}::text[])
          UNION
          SELECT connection_id, channel || '/' || identity FROM sender
          WHERE connection_id IS NOT NULL AND channel = ANY(${[...channels]}::text[])
            AND (owner_id = ${accountId} OR owner_id IS NULL)),
        link AS (
          SELECT u.way, c.id, c.name, c.status, EXISTS (
            SELECT FROM connection_status s WHERE s.connection_id = c.id AND s.up
              AND s.updated_at > now() - interval '1 minute') AS up
          FROM used u JOIN connection c ON c.id = u.connection_id)
        SELECT l.name, max(d.since) AS since,
               bool_and(EXISTS (SELECT FROM link o WHERE o.way = l.way AND o.up AND o.status = 'active')) AS covered
        FROM link l LEFT JOIN connection_down d ON d.connection_id = l.id
        WHERE l.status = 'active' AND NOT l.up
        GROUP BY l.name ORDER BY l.name`,
  );

import { CAMPAIGN, UNFINISHED } from '../../../engagement/campaigns/states.ts';
import { constant, type Db, join, many, raw, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Attention, AttentionKind } from '../schema.ts';

type Of = { readonly accountId: number };

/** Number of the newest rows that are checked for failures; more are on the pages of their features. */
const MAX_CHECKED = constant(200);
const RECENTLY = sql`now() - interval '7 days'`;
/** Maximum number of unknown outcomes that are counted: the console shows "10,000 or more". */
const MAX_UNKNOWNS = constant(10_000);
const FAILED = constant(CAMPAIGN.FAILED);

/** The casts are for the kinds that select NULL, which has no type. */
const ATTENTION = columns({
  kind: as<AttentionKind>('kind'),
  severity: as<Attention['severity']>('severity'),
  count: as<number | null>('count::int'),
  subject: as<string | null>('subject'),
  subjectId: as<string | null>('"subjectId"'),
  since: as<Date | null>('since::timestamptz'),
  detail: as<string | null>('detail'),
});
export type AttentionRow = RowOf<typeof ATTENTION>;
const NAMES = raw(ATTENTION.names.map((name) => `"${name}"`).join(', '));

/** Selects the rows of one kind: `values` are the columns of `ATTENTION` after the first. */
const rowsOfKind = (kind: AttentionKind, values: Sql, from: Sql): Sql =>
  sql`SELECT ${raw(`'${kind}'`)}::text, ${values} ${from}`;

const SOURCES: Readonly<Partial<Record<AttentionKind, (accountId: number) => Sql>>> = {
  webhook_failing: (id) =>
    rowsOfKind(
      'webhook_failing',
      sql`'warning', NULL, NULL, NULL, failing_since, NULL`,
      sql`FROM webhook_endpoint WHERE account_id = ${id} AND status = 'active' AND failing_since IS NOT NULL`,
    ),
  webhook_disabled: (id) =>
    rowsOfKind(
      'webhook_disabled',
      sql`'error', NULL, NULL, NULL, updated_at, disabled_reason`,
      sql`FROM webhook_endpoint WHERE account_id = ${id} AND status = 'disabled'`,
    ),
  unknown_outcomes: (id) =>
    rowsOfKind(
      'unknown_outcomes',
      sql`'warning', count(*)::int, NULL, NULL, min(created_at), NULL`,
      sql`FROM (SELECT created_at FROM unknown_outcome WHERE account_id = ${id} LIMIT ${MAX_UNKNOWNS}) AS u
          HAVING count(*) > 0`,
    ),
  campaign_failed: (id) =>
    rowsOfKind(
      'campaign_failed',
      sql`'error', NULL, name, id::text, completed_at, failure_reason`,
      sql`FROM campaign WHERE account_id = ${id} AND status = ${FAILED} AND completed_at > ${RECENTLY}`,
    ),
  // Without a reason a person has paused the campaign, and knows.
  campaign_paused: (id) =>
    rowsOfKind(
      'campaign_paused',
      sql`'warning', NULL, name, id::text, paused_at, failure_reason`,
      sql`FROM campaign WHERE account_id = ${id} AND status IN (${UNFINISHED}) AND confirmed_at IS NOT NULL
            AND paused_at IS NOT NULL AND cancelled_at IS NULL AND failure_reason IS NOT NULL`,
    ),
  import_failed: (id) =>
    rowsOfKind(
      'import_failed',
      sql`'warning', NULL, file_name, id::text, completed_at, failure`,
      sql`FROM (SELECT * FROM contact_import WHERE account_id = ${id} ORDER BY id DESC LIMIT ${MAX_CHECKED}) AS i
          WHERE status = 'FAILED' AND completed_at > ${RECENTLY}`,
    ),
  export_failed: (id) =>
    rowsOfKind(
      'export_failed',
      sql`'warning', NULL, type, id::text, completed_at, failure`,
      sql`FROM (SELECT * FROM export WHERE account_id = ${id} ORDER BY id DESC LIMIT ${MAX_CHECKED}) AS e
          WHERE status = 'FAILED' AND completed_at > ${RECENTLY}`,
    ),
  social_disconnected: (id) =>
    rowsOfKind(
      'social_disconnected',
      sql`'warning', NULL, profile_name, platform, NULL, disconnected`,
      sql`FROM social_profile WHERE account_id = ${id} AND disconnected IS NOT NULL`,
    ),
  template_rejected: (id) =>
    rowsOfKind(
      'template_rejected',
      sql`'warning', NULL, name, id, updated_at, coalesce(reason, status)`,
      sql`FROM template WHERE owner_id = ${id} AND status IN ('REJECTED', 'PAUSED', 'DISABLED') AND updated_at > ${RECENTLY}`,
    ),
};

/**
 * Lists what needs attention according to the account's own rows, for these kinds: at most fifty of each, newest first.
 */
export async function listAttention(
  db: Db,
  { accountId, kinds }: Of & { kinds: readonly AttentionKind[] },
): Promise<AttentionRow[]> {
  const sources = kinds.flatMap((kind) => SOURCES[kind]?.(accountId) ?? []);
  if (sources.length === 0) return [];
  const limited = sources.map(
    (source) => sql`(SELECT ${ATTENTION} FROM (${source}) AS s (${NAMES}) ORDER BY since DESC LIMIT 50)`,
  );
  return many<AttentionRow>(db, join(limited, ' UNION ALL '));
}

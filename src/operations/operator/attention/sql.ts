import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { AttentionKind } from './kinds.ts';

export const SEVERITIES = ['error', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Something that needs attention. */
export type Attention = {
  readonly kind: AttentionKind;
  readonly severity: Severity;
  /**
   * Number of messages, receipts or credentials; a percentage of `delivery_falling`, MiB of `disk_low`, days until an
   * expiry.
   */
  readonly count: number | null;
  /** Number of accounts that have waiting messages. */
  readonly accounts: number | null;
  /** Reference value of `count`: the percentage of the week before, or the days until the first credential expires. */
  readonly compared: number | null;
  readonly subject: string | null;
  readonly subjectId: number | null;
  readonly since: Date | null;
  readonly detail: string | null;
};

const MAX_PER_KIND = 20;

const RULE = columns({
  kind: as<string>('r.kind'),
  enabled: as<boolean>('r.enabled'),
  forSeconds: as<number>('r.for_seconds'),
  threshold: as<number | null>('r.threshold'),
});
export type RuleRow = RowOf<typeof RULE>;

/** Lists the rules that operators have set instead of the defaults of `KINDS`. */
export async function listRules(db: Db): Promise<RuleRow[]> {
  return many(db, sql`SELECT ${RULE} FROM alert_rule r`);
}

const WEBHOOK = columns({
  kind: as<'webhook_failing' | 'webhook_disabled'>(
    `CASE WHEN e.status = 'disabled' THEN 'webhook_disabled' ELSE 'webhook_failing' END`,
  ),
  severity: as<Severity>(`CASE WHEN e.status = 'disabled' THEN 'error' ELSE 'warning' END`),
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  since: as<Date | null>('e.failing_since'),
  detail: as<string | null>('e.disabled_reason'),
});

/** Lists up to 20 webhooks that are disabled or have been failing for `hours`. */
export async function listFailingWebhooks(db: Db, { hours }: { hours: number }): Promise<RowOf<typeof WEBHOOK>[]> {
  return many(
    db,
    sql`SELECT ${WEBHOOK}
        FROM webhook_endpoint e JOIN account a ON a.id = e.account_id AND a.status = 'active'
        WHERE e.status = 'disabled' OR e.failing_since < now() - ${hours} * interval '1 hour'
        ORDER BY e.status DESC, e.account_id LIMIT ${MAX_PER_KIND}`,
  );
}

const LOW_CREDIT = columns({
  severity: as<Severity>(`CASE WHEN b.available_micros = 0 THEN 'error' ELSE 'warning' END`),
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  detail: as<string>(`(b.available_micros / 1e6)::float8 || ' ' || b.currency`),
});

/** Lists up to 20 accounts that pay in advance and have less credit than `hours` cost at the pace of the last 24 hours. */
export async function listLowCredit(db: Db, { hours }: { hours: number }): Promise<RowOf<typeof LOW_CREDIT>[]> {
  return many(
    db,
    sql`SELECT ${LOW_CREDIT}
        FROM (SELECT account_id, sum(cost_micros) * ${hours}::float8 / 24 AS micros FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '24 hours' GROUP BY account_id) AS t
        JOIN credit_balance b ON b.account_id = t.account_id AND NOT b.unlimited AND b.available_micros < t.micros
        JOIN account a ON a.id = t.account_id AND a.status = 'active'
        ORDER BY b.available_micros, a.id LIMIT ${MAX_PER_KIND}`,
  );
}

/** Minimum of messages for a meaningful share. */
const MIN_RECENT = 30;
const MIN_BEFORE = 100;
const percent = (delivered: string, messages: string): string => `round(100.0 * ${delivered} / ${messages})::int`;

const FALLING = columns({
  subject: as<string>('c.name'),
  subjectId: as<number>('c.id'),
  count: as<number>(percent('q.delivered', 'q.recent')),
  compared: as<number>(percent('q.delivered_before', 'q.before')),
});

/**
 * Lists connections that have delivered a smaller share of the sampled messages in the last hour than in the seven days
 * before it, by at least `points` percentage points. A message is judged five minutes after its carrier's response.
 */
export async function listFallingDelivery(db: Db, { points }: { points: number }): Promise<RowOf<typeof FALLING>[]> {
  const recent = sql`slot > now() - interval '1 hour'`;
  return many(
    db,
    sql`SELECT ${FALLING}
        FROM (SELECT connection_id, sum(messages) FILTER (WHERE ${recent}) AS recent,
                     sum(delivered) FILTER (WHERE ${recent}) AS delivered,
                     sum(messages) FILTER (WHERE NOT ${recent}) AS before,
                     sum(delivered) FILTER (WHERE NOT ${recent}) AS delivered_before
              FROM connection_quality WHERE slot > now() - interval '7 days 1 hour' GROUP BY connection_id) AS q
        JOIN connection c ON c.id = q.connection_id AND c.status = 'active'
        WHERE q.recent >= ${MIN_RECENT} AND q.before >= ${MIN_BEFORE}
          AND 100.0 * q.delivered / q.recent <= 100.0 * q.delivered_before / q.before - ${points}::float8
        ORDER BY c.id`,
  );
}

const TOKENS = columns({
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  count: as<number>('count(*)::int'),
  compared: as<number>('greatest(0, floor(extract(epoch FROM min(t.ends_at) - now()) / 86400))::int'),
  detail: as<string>(`string_agg(t.name, ', ' ORDER BY t.ends_at, t.name)`),
});

/**
 * Lists up to 20 accounts whose credentials end within `days`: API keys that were used in the last week, and tokens of
 * social profiles that the program could not renew.
 */
export async function listExpiringTokens(db: Db, { days }: { days: number }): Promise<RowOf<typeof TOKENS>[]> {
  const soon = sql`now() + ${days} * interval '1 day'`;
  return many(
    db,
    sql`SELECT ${TOKENS}
        FROM (SELECT account_id, expires_at AS ends_at, 'API key ' || coalesce(nullif(name, ''), id::text) AS name
              FROM api_key
              WHERE expires_at > now() AND expires_at < ${soon} AND last_used_at > now() - interval '7 days'
              UNION ALL
              SELECT account_id, token_expires_at, platform || ' ' || profile_name FROM social_profile
              WHERE disconnected IS NULL AND token_expires_at > now() AND token_expires_at < ${soon}
                AND (refresh_at IS NULL OR failures > 0)) AS t
        JOIN account a ON a.id = t.account_id AND a.status = 'active'
        GROUP BY a.id, a.name ORDER BY min(t.ends_at), a.id LIMIT ${MAX_PER_KIND}`,
  );
}

const openIssues = (hours: number) =>
  columns({
    unknowns: as<number>('(SELECT count(*) FROM unknown_outcome)'),
    unknownsSince: as<Date | null>('(SELECT min(created_at) FROM unknown_outcome)'),
    /** Receipts that have matched no message for `hours`. */
    unmatched: as<number>(sql`(SELECT count(*) FROM receipt_unmatched
                               WHERE received_at < now() - ${hours}::float8 * interval '1 hour')`),
    unmatchedSince: as<Date | null>('(SELECT min(received_at) FROM receipt_unmatched)'),
    /** Requested agents that are not registered yet. */
    agents: as<number>('(SELECT count(*) FROM sender WHERE identity IS NULL)'),
  });
type OpenIssues = RowOf<ReturnType<typeof openIssues>>;

/** Counts the unknown outcomes, receipts that have been unmatched for `hours`, and requested agents of all accounts. */
export const countOpenIssues = (db: Db, { hours }: { hours: number }): Promise<OpenIssues> =>
  one(db, sql`SELECT ${openIssues(hours)}`);

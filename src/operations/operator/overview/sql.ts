import type { ConnectionKind } from '../../../network/connections/kinds/kinds.ts';
import { type Db, many, one, sql } from '../../../platform/db/query.ts';

export type AccountTotals = { total: number; active: number; suspended: number };

export async function countAccountsByStatus(db: Db): Promise<AccountTotals> {
  return one(
    db,
    sql`SELECT count(*) AS total, count(*) FILTER (WHERE status = 'active') AS active,
               count(*) FILTER (WHERE status = 'suspended') AS suspended FROM account`,
  );
}

export type ChannelTraffic = {
  /** Its bit (src/platform/lib/channel.ts). */
  channel: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
  costMicros: number;
};

/** By channel, the roll-ups of all accounts of the last 24 hours and the hour under way. */
export async function listChannelTraffic(db: Db): Promise<ChannelTraffic[]> {
  return many(
    db,
    sql`SELECT channel, sum(sent)::bigint AS sent, sum(delivered)::bigint AS delivered, sum(read)::bigint AS read,
               sum(failed)::bigint AS failed, sum(cost_micros)::bigint AS "costMicros"
        FROM traffic_hour WHERE hour >= date_trunc('hour', now()) - interval '24 hours'
        GROUP BY channel ORDER BY channel`,
  );
}

/** The accounts that sent most in this hour and the one before. */
export async function listBusiestAccounts(
  db: Db,
  { limit }: { limit: number },
): Promise<{ accountId: number; account: string; sent: number }[]> {
  return many(
    db,
    sql`SELECT t.account_id AS "accountId", a.name AS account, t.sent
        FROM (SELECT account_id, sum(sent)::bigint AS sent FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '1 hour' GROUP BY account_id
              HAVING sum(sent) > 0 ORDER BY sent DESC, account_id LIMIT ${limit}) AS t
        JOIN account a ON a.id = t.account_id ORDER BY t.sent DESC, t.account_id`,
  );
}

export type CreditTotal = { currency: string; availableMicros: number; frozenMicros: number };

export async function listCreditTotals(db: Db): Promise<CreditTotal[]> {
  return many(
    db,
    sql`SELECT b.currency, sum(b.available_micros)::bigint AS "availableMicros",
               coalesce(sum(f.micros), 0)::bigint AS "frozenMicros"
        FROM credit_balance b
        LEFT JOIN (SELECT account_id, sum(micros) AS micros FROM credit_frozen GROUP BY account_id) AS f
          ON f.account_id = b.account_id
        GROUP BY b.currency ORDER BY b.currency`,
  );
}

export type KindMinute = { minute: Date; kind: ConnectionKind; accepted: number; refused: number; unknown: number };

/** The last 60 minutes by kind of connection, as far as anything was. */
export async function listMinutesByKind(db: Db): Promise<KindMinute[]> {
  return many(
    db,
    sql`SELECT m.minute, c.kind, sum(m.accepted)::bigint AS accepted, sum(m.refused)::bigint AS refused,
               sum(m.unknown)::bigint AS unknown
        FROM connection_minute m JOIN connection c ON c.id = m.connection_id
        WHERE m.minute > date_trunc('minute', now()) - interval '1 hour'
        GROUP BY m.minute, c.kind`,
  );
}

export type Concern = {
  kind: string;
  severity: 'error' | 'warning';
  count: number | null;
  subject: string | null;
  subjectId: number | null;
  since: Date | null;
  detail: string | null;
};

/** Each of these is told of this often at most. */
const MOST_OF_A_KIND = 20;

/** Webhooks that nothing is sent to any more, or that have failed for an hour. */
export async function listWebhookConcerns(db: Db): Promise<Concern[]> {
  return many(
    db,
    sql`SELECT CASE WHEN e.status = 'disabled' THEN 'webhook_disabled' ELSE 'webhook_failing' END AS kind,
               CASE WHEN e.status = 'disabled' THEN 'error' ELSE 'warning' END AS severity, NULL::int AS count,
               a.name AS subject, a.id AS "subjectId", e.failing_since AS since, e.disabled_reason AS detail
        FROM webhook_endpoint e JOIN account a ON a.id = e.account_id AND a.status = 'active'
        WHERE e.status = 'disabled' OR e.failing_since < now() - interval '1 hour'
        ORDER BY e.status DESC, e.account_id LIMIT ${MOST_OF_A_KIND}`,
  );
}

/** Accounts that pay beforehand and have less than they spent in the last 24 hours. */
export async function listCreditConcerns(db: Db): Promise<Concern[]> {
  return many(
    db,
    sql`SELECT 'low_credit' AS kind, CASE WHEN b.available_micros = 0 THEN 'error' ELSE 'warning' END AS severity,
               NULL::int AS count, a.name AS subject, a.id AS "subjectId", NULL::timestamptz AS since,
               (b.available_micros / 1e6)::float8 || ' ' || b.currency AS detail
        FROM (SELECT account_id, sum(cost_micros) AS micros FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '24 hours' GROUP BY account_id) AS t
        JOIN credit_balance b ON b.account_id = t.account_id AND NOT b.unlimited AND b.available_micros < t.micros
        JOIN account a ON a.id = t.account_id AND a.status = 'active'
        ORDER BY b.available_micros, a.id LIMIT ${MOST_OF_A_KIND}`,
  );
}

export type OpenIssues = {
  unknowns: number;
  unknownsSince: Date | null;
  unmatched: number;
  unmatchedSince: Date | null;
  agents: number;
};

/** Of all accounts: unknown outcomes, receipts that fit nothing for an hour, and agents that are asked for. */
export async function countOpenIssues(db: Db): Promise<OpenIssues> {
  return one(
    db,
    sql`SELECT (SELECT count(*) FROM unknown_outcome) AS unknowns,
               (SELECT min(created_at) FROM unknown_outcome) AS "unknownsSince",
               (SELECT count(*) FROM receipt_unmatched WHERE received_at < now() - interval '1 hour') AS unmatched,
               (SELECT min(received_at) FROM receipt_unmatched) AS "unmatchedSince",
               (SELECT count(*) FROM sender WHERE identity IS NULL) AS agents`,
  );
}

import type { ConnectionKind } from '../../../network/connections/kinds/kinds.ts';
import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const ACCOUNT_TOTALS = columns({
  total: as<number>('count(*)'),
  active: as<number>(`count(*) FILTER (WHERE status = 'active')`),
  suspended: as<number>(`count(*) FILTER (WHERE status = 'suspended')`),
});
export type AccountTotals = RowOf<typeof ACCOUNT_TOTALS>;

export async function countAccountsByStatus(db: Db): Promise<AccountTotals> {
  return one(db, sql`SELECT ${ACCOUNT_TOTALS} FROM account`);
}

const CHANNEL_TRAFFIC = columns({
  /** The bit of the channel (src/platform/lib/channel.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  read: as<number>('sum(read)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type ChannelTraffic = RowOf<typeof CHANNEL_TRAFFIC>;

/** Lists the traffic of all accounts by channel, from the roll-ups of the last 24 hours and of the current hour. */
export async function listChannelTraffic(db: Db): Promise<ChannelTraffic[]> {
  return many(
    db,
    sql`SELECT ${CHANNEL_TRAFFIC}
        FROM traffic_hour WHERE hour >= date_trunc('hour', now()) - interval '24 hours'
        GROUP BY channel ORDER BY channel`,
  );
}

const BUSY_ACCOUNT = columns({
  accountId: as<number>('t.account_id'),
  account: as<string>('a.name'),
  sent: as<number>('t.sent'),
});

/** Lists the accounts that sent most in the current hour and the one before. */
export async function listBusiestAccounts(db: Db, { limit }: { limit: number }): Promise<RowOf<typeof BUSY_ACCOUNT>[]> {
  return many(
    db,
    sql`SELECT ${BUSY_ACCOUNT}
        FROM (SELECT account_id, sum(sent)::bigint AS sent FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '1 hour' GROUP BY account_id
              HAVING sum(sent) > 0 ORDER BY sent DESC, account_id LIMIT ${limit}) AS t
        JOIN account a ON a.id = t.account_id ORDER BY t.sent DESC, t.account_id`,
  );
}

const CREDIT_TOTAL = columns({
  currency: as<string>('b.currency'),
  availableMicros: as<number>('sum(b.available_micros)::bigint'),
  frozenMicros: as<number>('coalesce(sum(f.micros), 0)::bigint'),
});
export type CreditTotal = RowOf<typeof CREDIT_TOTAL>;

/** Lists the credit of all accounts together, by currency. */
export async function listCreditTotals(db: Db): Promise<CreditTotal[]> {
  return many(
    db,
    sql`SELECT ${CREDIT_TOTAL}
        FROM credit_balance b
        LEFT JOIN (SELECT account_id, sum(micros) AS micros FROM credit_frozen GROUP BY account_id) AS f
          ON f.account_id = b.account_id
        GROUP BY b.currency ORDER BY b.currency`,
  );
}

const KIND_MINUTE = columns({
  minute: as<Date>('m.minute'),
  kind: as<ConnectionKind>('c.kind'),
  accepted: as<number>('sum(m.accepted)::bigint'),
  refused: as<number>('sum(m.refused)::bigint'),
  unknown: as<number>('sum(m.unknown)::bigint'),
});
export type KindMinute = RowOf<typeof KIND_MINUTE>;

/** Lists what carriers answered in the last 60 minutes, by minute and kind of connection. Empty minutes are missing. */
export async function listMinutesByKind(db: Db): Promise<KindMinute[]> {
  return many(
    db,
    sql`SELECT ${KIND_MINUTE}
        FROM connection_minute m JOIN connection c ON c.id = m.connection_id
        WHERE m.minute > date_trunc('minute', now()) - interval '1 hour'
        GROUP BY m.minute, c.kind`,
  );
}

/** Something of an account that needs attention. */
export type Concern = {
  kind: string;
  severity: 'error' | 'warning';
  count: number | null;
  subject: string | null;
  subjectId: number | null;
  since: Date | null;
  detail: string | null;
};

const MAX_PER_KIND = 20;

const WEBHOOK_CONCERN = columns({
  kind: as<string>(`CASE WHEN e.status = 'disabled' THEN 'webhook_disabled' ELSE 'webhook_failing' END`),
  severity: as<Concern['severity']>(`CASE WHEN e.status = 'disabled' THEN 'error' ELSE 'warning' END`),
  count: as<null>('NULL::int'),
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  since: as<Date | null>('e.failing_since'),
  detail: as<string | null>('e.disabled_reason'),
});

/** Lists up to 20 webhooks that are disabled or have been failing for an hour. */
export async function listWebhookConcerns(db: Db): Promise<Concern[]> {
  return many(
    db,
    sql`SELECT ${WEBHOOK_CONCERN}
        FROM webhook_endpoint e JOIN account a ON a.id = e.account_id AND a.status = 'active'
        WHERE e.status = 'disabled' OR e.failing_since < now() - interval '1 hour'
        ORDER BY e.status DESC, e.account_id LIMIT ${MAX_PER_KIND}`,
  );
}

const CREDIT_CONCERN = columns({
  kind: as<string>(`'low_credit'`),
  severity: as<Concern['severity']>(`CASE WHEN b.available_micros = 0 THEN 'error' ELSE 'warning' END`),
  count: as<null>('NULL::int'),
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  since: as<null>('NULL::timestamptz'),
  detail: as<string>(`(b.available_micros / 1e6)::float8 || ' ' || b.currency`),
});

/** Lists up to 20 accounts that pay in advance and have less credit than they spent in the last 24 hours. */
export async function listCreditConcerns(db: Db): Promise<Concern[]> {
  return many(
    db,
    sql`SELECT ${CREDIT_CONCERN}
        FROM (SELECT account_id, sum(cost_micros) AS micros FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '24 hours' GROUP BY account_id) AS t
        JOIN credit_balance b ON b.account_id = t.account_id AND NOT b.unlimited AND b.available_micros < t.micros
        JOIN account a ON a.id = t.account_id AND a.status = 'active'
        ORDER BY b.available_micros, a.id LIMIT ${MAX_PER_KIND}`,
  );
}

const OPEN_ISSUES = columns({
  unknowns: as<number>('(SELECT count(*) FROM unknown_outcome)'),
  unknownsSince: as<Date | null>('(SELECT min(created_at) FROM unknown_outcome)'),
  /** Receipts that have matched no message for an hour. */
  unmatched: as<number>(`(SELECT count(*) FROM receipt_unmatched WHERE received_at < now() - interval '1 hour')`),
  unmatchedSince: as<Date | null>('(SELECT min(received_at) FROM receipt_unmatched)'),
  /** Requested agents that are not registered yet. */
  agents: as<number>('(SELECT count(*) FROM sender WHERE identity IS NULL)'),
});
export type OpenIssues = RowOf<typeof OPEN_ISSUES>;

/** Counts the unknown outcomes, unmatched receipts and requested agents of all accounts. */
export async function countOpenIssues(db: Db): Promise<OpenIssues> {
  return one(db, sql`SELECT ${OPEN_ISSUES}`);
}

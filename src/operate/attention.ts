import { as, columns, type Db, many, one, type RowOf, sql } from '../core/db/query.ts';
import { DAY_MS, SECOND_MS } from '../core/time.ts';
import { listBillingGaps } from '../messages/network-billing.ts';
import type { GuardStatus } from '../messages/restore-guard.ts';
import { listMissed } from '../messages/schedules.ts';
import { listUndecided } from '../messages/suspected.ts';
import { describeUnderCost, listUnderCost } from '../money/under-cost.ts';
import { listUnusableConnections } from '../routing/choice.ts';
import { findInstallationUsedUp } from '../routing/number-lookups.ts';
import { listConversionDrops } from '../verify/conversion-drops.ts';
import { listGuardConcerns } from '../verify/ranges.ts';
import type { ConnectionRow } from './connection-store.ts';
import type { WorkerRow } from './workers.ts';

/** State that callers have read already. */
type GatewayState = {
  readonly guard: GuardStatus;
  readonly workers: readonly WorkerRow[];
  readonly connections: readonly ConnectionRow[];
  readonly now: Date;
};

type Thresholds = ReturnType<typeof thresholdsOf>;

/**
 * Lists everything that needs attention over all accounts, worst first. It is the only source of the overview and of
 * alerts.
 */
export async function listAttention(
  pool: Db,
  { guard, workers, connections, now }: GatewayState,
): Promise<Attention[]> {
  const from = thresholdsOf(await readRules(pool));
  const all = [
    ...(guard.state === 'paused' ? [concern('sending_paused', { since: guard.since, detail: guard.reason })] : []),
    ...concernsOfWorkers(workers),
    ...concernsOfMachines(workers, {
      minFreeBytes: from('disk_low') * GIB,
      minDays: from('certificate_expiring'),
      now,
    }),
    ...(await concernsOfConnections(pool, connections, from)),
    ...(await concernsOfAccounts(pool, from)),
    ...(await concernsOfCosts(pool)),
    ...(await concernsOfBilling(pool, from('billing_differs'))),
    ...(await concernsOfOpenIssues(pool, from)),
  ];
  return all.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const GIB = 1024 ** 3;

async function concernsOfConnections(
  pool: Db,
  connections: readonly ConnectionRow[],
  from: Thresholds,
): Promise<Attention[]> {
  const unusable = await listUnusableConnections(pool, { accountId: null });
  const uncovered = new Set(unusable.filter(({ covered }) => !covered).map(({ id }) => id));
  const falling = await listFallingDelivery(pool, { points: from('delivery_falling') });
  return [
    ...connections.flatMap((row) => concernsOf(row, uncovered.has(row.id), from('queue_stuck'))),
    ...falling.map((row) => concern('delivery_falling', { severity: 'warning', ...row })),
  ];
}

function concernsOf(row: ConnectionRow, isOnlyWay: boolean, stuckSeconds: number): Attention[] {
  const { name: subject, id: subjectId, queued: count, waitingAccounts: accounts, fault, lastError } = row;
  const of = { subject, subjectId, count, accounts };
  if (row.status === 'paused') {
    // Nothing is wrong with a paused connection that another one stands in for.
    if (!isOnlyWay && count === 0) return [];
    const severity = isOnlyWay ? 'error' : 'warning';
    return [concern('connection_paused', { ...of, severity, since: count > 0 ? waitingSince(row) : null })];
  }
  // The connections of a sandbox that no longer runs stay, without routes.
  if (row.sandbox && row.routes + row.senders + count === 0) return [];
  return [
    ...(fault === null ? [] : [concern('connection_fault', { ...of, detail: fault })]),
    ...(row.up || fault !== null
      ? []
      : [concern('connection_down', { ...of, since: row.downSince, detail: lastError })]),
    ...(row.up && row.oldestSeconds > stuckSeconds
      ? [concern('queue_stuck', { ...of, since: waitingSince(row) })]
      : []),
  ];
}

const waitingSince = ({ oldestSeconds }: ConnectionRow): Date => new Date(Date.now() - oldestSeconds * SECOND_MS);

async function concernsOfAccounts(pool: Db, from: Thresholds): Promise<Attention[]> {
  const webhooks = await listFailingWebhooks(pool, { hours: from('webhook_failing') });
  const credit = await listLowCredit(pool, { hours: from('low_credit') });
  const wishes = await listUndecided(pool, { days: from('wishes_undecided') });
  const tokens = await listExpiringTokens(pool, { days: from('token_expiring') });
  return [
    ...webhooks.map(({ kind, ...row }) => concern(kind, row)),
    ...credit.map((row) => concern('low_credit', row)),
    ...tokens.map((row) => concern('token_expiring', { severity: 'warning', ...row })),
    ...wishes.map((row) => concern('wishes_undecided', { severity: 'warning', ...row })),
    ...(await listGuardConcerns(pool)).map(({ kind, ...row }) => concern(kind, { severity: 'warning', ...row })),
    ...(await listConversionDrops(pool, { points: from('verify_conversion_drop') })).map((row) =>
      concern('verify_conversion_drop', { severity: 'warning', ...row }),
    ),
  ];
}

/** One line for each connection whose routes are priced below cost, with the largest loss. */
async function concernsOfCosts(pool: Db): Promise<Attention[]> {
  const byConnection = Map.groupBy(await listUnderCost(pool), ({ connection }) => connection);
  return [...byConnection].map(([subject, routes]) =>
    concern('sold_under_cost', {
      severity: 'warning',
      subject,
      count: routes.length,
      detail: routes.slice(0, 1).map(describeUnderCost).join(),
    }),
  );
}

/** Minimum of messages for a meaningful share of differences. */
const MIN_BILLED = 100;

async function concernsOfBilling(pool: Db, percent: number): Promise<Attention[]> {
  const gaps = (await listBillingGaps(pool)).filter(
    ({ messages, differing }) => messages >= MIN_BILLED && (differing * 100) / messages > percent,
  );
  return gaps.map(({ day, category: subject, differing: count, messages: compared }) =>
    concern('billing_differs', { severity: 'warning', subject, count, compared, detail: day }),
  );
}

async function concernsOfOpenIssues(pool: Db, from: Thresholds): Promise<Attention[]> {
  const issues = await countOpenIssues(pool, { hours: from('receipts_unmatched') });
  const missed = await listMissed(pool);
  const usedUp = await findInstallationUsedUp(pool);
  const warn = (kind: AttentionKind, count: number, since: Date | null): Attention[] =>
    count === 0 ? [] : [concern(kind, { severity: 'warning', count, since })];
  return [
    ...warn('missed_schedules', missed.length, missed[0]?.dueAt ?? null),
    ...(usedUp ? [concern('lookups_used_up', { severity: 'warning', count: usedUp.allowed })] : []),
    ...(issues.unknowns < from('unknown_outcomes')
      ? []
      : warn('unknown_outcomes', issues.unknowns, issues.unknownsSince)),
    ...warn('receipts_unmatched', issues.unmatched, issues.unmatchedSince),
    ...warn('callbacks_unclaimed', issues.unclaimed, issues.unclaimedSince),
    ...(issues.agents === 0 ? [] : [concern('agents_requested', { severity: 'info', count: issues.agents })]),
  ];
}

/** Makes an item that needs attention: a problem without other facts, except for `fields`. */
const concern = (kind: AttentionKind, fields: Partial<Omit<Attention, 'kind'>>): Attention => ({
  kind,
  severity: 'error',
  count: null,
  accounts: null,
  compared: null,
  subject: null,
  subjectId: null,
  since: null,
  detail: null,
  ...fields,
});

/** Kind of condition that may need attention, with the default rule by which it becomes an alert. */
type Kind = {
  readonly of: 'gateway' | 'connection' | 'account' | 'machine';
  readonly enabled: boolean;
  /** Time that it must hold before it is an alert, in seconds. */
  readonly forSeconds: number;
  /** Threshold from which it needs attention, and its unit; null if there is nothing to set. */
  readonly threshold: { readonly value: number; readonly unit: Unit } | null;
};

export const UNITS = ['seconds', 'hours', 'days', 'points', 'percent', 'messages', 'gibibytes'] as const;
type Unit = (typeof UNITS)[number];

const kind = (
  of: Kind['of'],
  forSeconds: number,
  threshold: Kind['threshold'] = null,
  more: Partial<Kind> = {},
): Kind => ({ of, enabled: true, forSeconds, threshold, ...more });
const from = (value: number, unit: Unit) => ({ value, unit });

/**
 * All kinds, in the order of the console. Carriers reconnect within seconds and workers are restarted, so these
 * conditions must hold for two minutes or one; those that are measured over a longer time count immediately.
 */
const KINDS = {
  sending_paused: kind('gateway', 0),
  no_worker: kind('gateway', 60),
  worker_missing: kind('gateway', 60),
  connection_down: kind('connection', 120),
  connection_fault: kind('connection', 120),
  connection_paused: kind('connection', 120),
  queue_stuck: kind('connection', 0, from(300, 'seconds')),
  delivery_falling: kind('connection', 600, from(20, 'points')),
  unknown_outcomes: kind('gateway', 120, from(1, 'messages')),
  receipts_unmatched: kind('gateway', 0, from(1, 'hours')),
  callbacks_unclaimed: kind('gateway', 0),
  missed_schedules: kind('gateway', 0),
  lookups_used_up: kind('gateway', 0),
  low_credit: kind('account', 60, from(24, 'hours')),
  webhook_failing: kind('account', 0, from(1, 'hours')),
  webhook_disabled: kind('account', 0),
  verify_range_paused: kind('account', 0),
  verify_cost_cap: kind('account', 0),
  verify_conversion_drop: kind('account', 600, from(30, 'points')),
  wishes_undecided: kind('account', 0, from(7, 'days')),
  disk_low: kind('machine', 60, from(2, 'gibibytes')),
  certificate_expiring: kind('machine', 0, from(14, 'days')),
  token_expiring: kind('account', 0, from(7, 'days')),
  billing_differs: kind('gateway', 0, from(1, 'percent')),
  sold_under_cost: kind('gateway', 0, null, { enabled: false }),
  agents_requested: kind('gateway', 0, null, { enabled: false }),
} as const satisfies Readonly<Record<string, Kind>>;

export type AttentionKind = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS) as readonly AttentionKind[];

export const kindNamed = (name: AttentionKind): Kind => KINDS[name];

/** Reports that no worker runs, or that some have died and were not replaced. */
export function concernsOfWorkers(workers: readonly WorkerRow[]): Attention[] {
  const living = workers.filter(({ alive }) => alive);
  const dead = workers.filter(({ alive }) => !alive).toSorted((a, b) => a.seenAt.getTime() - b.seenAt.getTime());
  if (living.length === 0) return [concern('no_worker', {})];
  const missing = dead.slice(countStartedSince(living, dead[0]?.seenAt));
  if (missing.length === 0) return [];
  const hosts = [...new Set(missing.map(({ host }) => host))].join(', ');
  return [
    concern('worker_missing', {
      severity: 'warning',
      count: missing.length,
      since: missing[0]?.seenAt ?? null,
      detail: hosts,
    }),
  ];
}

const countStartedSince = (living: readonly WorkerRow[], at = new Date(0)): number =>
  living.filter(({ startedAt }) => startedAt > at).length;

type MachineLimits = { readonly minFreeBytes: number; readonly minDays: number; readonly now: Date };

/** A certificate that ends so soon is a problem, and no longer a warning. */
const PROBLEM_DAYS = 3;
const MIB = 1024 ** 2;

/** Reports machines with little disk or a certificate that ends soon, as their live workers last saw them. */
export function concernsOfMachines(workers: readonly WorkerRow[], limits: MachineLimits): Attention[] {
  const machines = Map.groupBy(
    workers.filter(({ alive }) => alive),
    ({ host }) => host,
  );
  return [...machines].flatMap(([subject, [seen]]) => (seen ? concernsOfMachine(subject, seen, limits) : []));
}

function concernsOfMachine(
  subject: string,
  { freeBytes, certificateEndsAt }: WorkerRow,
  { minFreeBytes, minDays, now }: MachineLimits,
): Attention[] {
  const days = certificateEndsAt === null ? null : Math.floor((certificateEndsAt.getTime() - now.getTime()) / DAY_MS);
  return [
    ...(freeBytes === null || freeBytes >= minFreeBytes
      ? []
      : [concern('disk_low', { subject, count: Math.floor(freeBytes / MIB) })]),
    ...(days === null || days >= minDays
      ? []
      : [
          concern('certificate_expiring', {
            subject,
            count: Math.max(0, days),
            severity: days < PROBLEM_DAYS ? 'error' : 'warning',
          }),
        ]),
  ];
}

/** Rule by which a kind of condition is an alert. */
type Rule = {
  readonly kind: AttentionKind;
  readonly enabled: boolean;
  /** Time that it must hold, in seconds. */
  readonly forSeconds: number;
  /** Threshold from which it needs attention, in `unit`; both null if there is nothing to set. */
  readonly threshold: number | null;
  readonly unit: Unit | null;
};

/** Reads the rules of all kinds: those that operators have set, or the defaults. */
export async function readRules(db: Db): Promise<Rule[]> {
  const rows = new Map((await listRules(db)).map(({ kind, ...row }) => [kind, row]));
  return KIND_NAMES.map((kind) => {
    const { enabled, forSeconds, threshold } = kindNamed(kind);
    const set = rows.get(kind);
    return {
      kind,
      enabled: set?.enabled ?? enabled,
      forSeconds: set?.forSeconds ?? forSeconds,
      threshold: threshold && (set?.threshold ?? threshold.value),
      unit: threshold && threshold.unit,
    };
  });
}

function thresholdsOf(rules: readonly Rule[]): (kind: AttentionKind) => number {
  const values = new Map(rules.map(({ kind, threshold }) => [kind, threshold]));
  return (kind) => values.get(kind) ?? 0;
}

export const SEVERITIES = ['error', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Something that needs attention. */
export type Attention = {
  readonly kind: AttentionKind;
  readonly severity: Severity;
  /**
   * Number of messages, receipts or credentials; a percentage of `delivery_falling` and `verify_conversion_drop`, MiB of
   * `disk_low`, days until an expiry.
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
async function listRules(db: Db): Promise<RuleRow[]> {
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
async function listFailingWebhooks(db: Db, { hours }: { hours: number }): Promise<RowOf<typeof WEBHOOK>[]> {
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
async function listLowCredit(db: Db, { hours }: { hours: number }): Promise<RowOf<typeof LOW_CREDIT>[]> {
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
async function listFallingDelivery(db: Db, { points }: { points: number }): Promise<RowOf<typeof FALLING>[]> {
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
async function listExpiringTokens(db: Db, { days }: { days: number }): Promise<RowOf<typeof TOKENS>[]> {
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
    /** Parts of callbacks about accounts at a carrier that no connection has. */
    unclaimed: as<number>('(SELECT count(*) FROM unclaimed_callback)'),
    unclaimedSince: as<Date | null>('(SELECT min(at) FROM unclaimed_callback)'),
    /** Requested agents that are not registered yet. */
    agents: as<number>('(SELECT count(*) FROM sender WHERE identity IS NULL)'),
  });
type OpenIssues = RowOf<ReturnType<typeof openIssues>>;

/** Counts the open issues of all accounts; receipts if they have been unmatched for `hours`. */
const countOpenIssues = (db: Db, { hours }: { hours: number }): Promise<OpenIssues> =>
  one(db, sql`SELECT ${openIssues(hours)}`);

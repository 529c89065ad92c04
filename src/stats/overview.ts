import type { Pool } from 'pg';
import { toEntryOut } from '../campaigns/campaign.ts';
import { createPaceMeter, type FindPace } from '../campaigns/create.ts';
import { CAMPAIGN, type CampaignEntry, UNFINISHED } from '../campaigns/store.ts';
import type { Actor, Scope } from '../core/actor.ts';
import { bitOf, CHANNELS } from '../core/channels.ts';
import { as, columns, constant, type Db, join, many, type RowOf, raw, type Sql, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { createMeter, type Meter } from '../core/limits.ts';
import { type AmountReader, amountFor, fromMicros, seesAmounts } from '../core/money.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { findGuardStatus } from '../messages/restore-guard.ts';
import { findBalance } from '../money/credit.ts';
import { listUnusableConnections } from '../routing/choice.ts';
import {
  ATTENTION_KINDS,
  type Attention,
  type AttentionKind,
  countAccepted,
  type DayRow,
  FirstStepsOut,
  findOwnSteps,
  findSharedSteps,
  type HourRow,
  listActiveCampaigns,
  listDays,
  listHours,
  OverviewOut,
  OverviewQuery,
  PeriodOut,
  PeriodQuery,
  SEVERITIES,
} from './overview-store.ts';
import { readRange } from './stats-store.ts';

/** Registers the routes behind the first page of the console. */
export function overviewRoutes(app: App, { pool, clock }: PlatformDeps): void {
  const show = createOverview(pool);

  app.get('/api/partner-gateway/v1/overview', {
    onRequest: requireScope('tracking'),
    config: { takesTurns: true },
    schema: {
      tags: ['Tracking'],
      operationId: 'findOverview',
      summary: 'Get the current state of the account and what needs attention',
      description:
        'Meant for polling every few seconds. The figures come from the roll-ups and are exact when they are read; ' +
        'simulations are not counted. The rates compare with the previous request, so `delivered` and `failed` are null ' +
        'at first.',
      querystring: OverviewQuery,
      response: { 200: OverviewOut },
    },
    handler: ({ actor, query }) => show(actor, { ...query, now: clock.now() }),
  });

  app.get('/api/partner-gateway/v1/overview/period', {
    onRequest: requireScope('tracking'),
    config: { takesTurns: true },
    schema: {
      tags: ['Tracking'],
      operationId: 'findPeriod',
      summary: 'Get statistics for a period and the preceding period',
      description: 'The figures come from the roll-ups; simulations are not counted.',
      querystring: PeriodQuery,
      response: { 200: PeriodOut },
    },
    handler: ({ actor, query }) => tenantTransaction(pool, actor, (tx) => findPeriod(tx, actor, query)),
  });

  app.get('/api/partner-gateway/v1/overview/first-steps', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'findFirstSteps',
      summary: 'Get the setup steps that are done',
      response: { 200: FirstStepsOut },
    },
    handler: ({ actor }) => findFirstSteps(pool, actor),
  });
}

const MAX_SENDING = 10;
const MAX_SCHEDULED = 5;
const NO_BALANCE = { currency: 'EUR', availableMicros: 0, frozenMicros: 0, unlimited: false };

type Query = { readonly hours: number; readonly now: Date };
type Rates = { readonly meter: Meter; readonly findPace: FindPace };

/**
 * Creates a function that shows the current state of an account. It reads roll-ups and a bounded number of the newest
 * rows, so it costs the same however much was sent. The rates compare with what this process has read before.
 */
function createOverview(pool: Pool): (actor: Actor, query: Query) => Promise<OverviewOut> {
  const rates = { meter: createMeter(), findPace: createPaceMeter() };
  return async (actor, query) => {
    const [own, shared] = await Promise.all([
      tenantTransaction(pool, actor, (tx) => readOwn(tx, actor, query)),
      listSharedAttention(pool, actor),
    ]);
    return toOverview(actor, query, { ...own, shared }, rates);
  };
}

/** Runs all queries on one connection, one after the other. */
async function readOwn(db: Db, actor: Actor, { hours, now }: Query) {
  const { accountId, operations } = actor;
  const rows = await listHours(db, { accountId, from: firstHourNeeded(now, hours) });
  const accepted = await acceptedPerSecond(db, accountId, now);
  const balance = (await findBalance(db, { accountId })) ?? NO_BALANCE;
  const campaigns = operations.has('campaigns')
    ? await listActiveCampaigns(db, { accountId, sending: MAX_SENDING, scheduled: MAX_SCHEDULED })
    : [];
  return { rows, accepted, balance, campaigns, attention: await listOwnAttention(db, actor) };
}

type Facts = Awaited<ReturnType<typeof readOwn>> & { readonly shared: OverviewOut['attention'] };

function toOverview(
  actor: Actor,
  { hours, now }: Query,
  { rows, accepted, balance, campaigns, attention, shared }: Facts,
  { meter, findPace }: Rates,
): OverviewOut {
  const from = startOfYesterday(now);
  const ends = meter.read(`${actor.accountId}/${from.getTime()}`, now, countEndsSince(rows, from));
  const [delivered = null, failed = null] = ends?.map(roundRate) ?? [];
  const showsCredit = seesAmounts(actor);
  const lowCredit = showsCredit ? creditAttention(balance, lastDayCostMicros(rows, now)) : [];
  return {
    asOf: now.toISOString(),
    rate: { accepted, delivered, failed },
    totals: totalsOfDays(rows, now, actor),
    series: trafficSeriesOf(rows, { now, hours, reader: actor }),
    credit: showsCredit ? toCredit(balance) : null,
    campaigns: campaigns.map((campaign) => toRunning(campaign, actor, findPace(actor, campaign, now))),
    attention: [...shared, ...lowCredit, ...attention].sort(compareAttention),
  };
}

const toCredit = ({ availableMicros, frozenMicros, currency, unlimited }: Facts['balance']) => ({
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
  currency,
  unlimited,
});

function toRunning(
  campaign: CampaignEntry,
  actor: Actor,
  pace: ReturnType<FindPace>,
): OverviewOut['campaigns'][number] {
  const { id, name, status, sendingMode, paused, progress, failureReason, totalDestinations } = toEntryOut(
    campaign,
    actor,
  );
  return {
    id,
    name,
    status,
    sendingMode,
    paused,
    progress,
    failureReason,
    ...pace,
    scheduledAt: campaign.scheduledAt?.toISOString() ?? null,
    sent: campaign.handled,
    total: totalDestinations,
  };
}

/**
 * Finds the setup steps that are done: those of the gateway, which all accounts share, and those of the account. Each
 * is the existence of a row, so it costs the same in a large account.
 */
async function findFirstSteps(pool: Pool, actor: Actor): Promise<FirstStepsOut> {
  const { accountId } = actor;
  const [shared, own] = await Promise.all([
    findSharedSteps(pool),
    tenantTransaction(pool, actor, (tx) => findOwnSteps(tx, { accountId })),
  ]);
  return { ...shared, ...own };
}

const MAX_DAYS = 366;

type Reader = AmountReader & { readonly accountId: number };
type Days = { readonly startDate: string; readonly endDate: string };

/**
 * Finds the figures of a period of days, UTC, and those of the period of the same length before it, to compare. They
 * are exact, whether hours have been folded into days or not. Errors: 400 for more than 366 days, or if the last day is
 * before the first.
 */
async function findPeriod(db: Db, reader: Reader, days: Days): Promise<PeriodOut> {
  const { from, to } = readRange(days);
  const count = Math.round((to.getTime() - from.getTime()) / DAY_MS);
  if (count > MAX_DAYS)
    throw invalidFields([{ field: 'endDate', message: `must be at most ${MAX_DAYS} days after startDate` }]);
  const before = new Date(from.getTime() - count * DAY_MS);
  const rows = await listDays(db, { accountId: reader.accountId, from: before, to });
  const first = dayOf(from);
  const [current, previous] = [rows.filter(({ day }) => day >= first), rows.filter(({ day }) => day < first)];
  return {
    startDate: first,
    endDate: days.endDate,
    totals: totalsOf(current, reader),
    previous: {
      startDate: dayOf(before),
      endDate: dayOf(new Date(from.getTime() - DAY_MS)),
      totals: totalsOf(previous, reader),
    },
    series: seriesOf(current, { from, count, reader }),
  };
}

const dayOf = (midnight: Date): string => midnight.toISOString().slice(0, 10);

/** Adds up figures, as this caller may see them. */
function totalsOf(rows: readonly Figures[], reader: AmountReader): PeriodOut['totals'] {
  const [sent, delivered] = [sum(rows, (row) => row.sent), sum(rows, (row) => row.delivered)];
  const [failed, unsent] = [sum(rows, (row) => row.failed), sum(rows, (row) => row.unsent)];
  const cost = amountFor(
    reader,
    sum(rows, (row) => row.costMicros),
  );
  return { sent, delivered, failed, pending: sent - delivered - (failed - unsent), cost };
}

/** Makes an entry for every day and every channel, with zeros where nothing was sent. */
function seriesOf(
  rows: readonly DayRow[],
  { from, count, reader }: { readonly from: Date; readonly count: number; readonly reader: AmountReader },
): PeriodOut['series'] {
  const known = new Map(rows.map((row) => [`${row.day}/${row.channel}`, row]));
  return Array.from({ length: count }, (_, i) => dayOf(new Date(from.getTime() + i * DAY_MS))).flatMap((day) =>
    CHANNELS.map((channel) => {
      return { day, channel, ...pointOf(known.get(`${day}/${bitOf(channel)}`), reader) };
    }),
  );
}

const startOf = (at: number, unitMs: number): Date => new Date(Math.floor(at / unitMs) * unitMs);
const midnightOf = (now: Date): Date => startOf(now.getTime(), DAY_MS);
/** The start of the first of the last `hours` hours, which include the current one. */
const startOfSeries = (now: Date, hours: number): Date => startOf(now.getTime() - (hours - 1) * HOUR_MS, HOUR_MS);

/** The counters of the rates begin here, so that they can be compared throughout the day. */
const startOfYesterday = (now: Date): Date => new Date(midnightOf(now).getTime() - DAY_MS);

/** The first hour that any figure of the overview needs. */
const firstHourNeeded = (now: Date, hours: number): Date =>
  new Date(Math.min(startOfSeries(now, hours).getTime(), startOfYesterday(now).getTime()));

const sum = <R>(rows: readonly R[], of: (row: R) => number): number => rows.reduce((total, row) => total + of(row), 0);

const since = (rows: readonly HourRow[], from: Date): readonly HourRow[] => rows.filter(({ hour }) => hour >= from);

/** Adds up today's messages, and those of yesterday up to the same hour. */
function totalsOfDays(all: readonly HourRow[], now: Date, reader: AmountReader): OverviewOut['totals'] {
  const midnight = midnightOf(now);
  const dayAgo = new Date(now.getTime() - DAY_MS);
  const yesterday = since(all, startOfYesterday(now)).filter(({ hour }) => hour < midnight && hour <= dayAgo);
  return { today: totalsOf(since(all, midnight), reader), yesterday: totalsOf(yesterday, reader) };
}

type Figures = Pick<HourRow, 'sent' | 'delivered' | 'failed' | 'unsent' | 'costMicros'>;

/** The figures of an hour or a day for a series; zeros where nothing was sent. */
const pointOf = (row: Figures | undefined, reader: AmountReader) => ({
  sent: row?.sent ?? 0,
  delivered: row?.delivered ?? 0,
  failed: row?.failed ?? 0,
  cost: amountFor(reader, row?.costMicros ?? 0),
});

/** Adds up the cost of the last 24 hours. */
const lastDayCostMicros = (all: readonly HourRow[], now: Date): number =>
  sum(since(all, startOfSeries(now, 24)), (row) => row.costMicros);

/** Counts the messages accepted from `from` on that were delivered and that have failed. Both numbers only grow. */
function countEndsSince(all: readonly HourRow[], from: Date): readonly [delivered: number, failed: number] {
  const rows = since(all, from);
  return [sum(rows, (row) => row.delivered), sum(rows, (row) => row.failed)];
}

/** Makes an entry for every hour and every channel, with zeros where nothing was sent. */
function trafficSeriesOf(
  all: readonly HourRow[],
  { now, hours, reader }: Query & { readonly reader: AmountReader },
): OverviewOut['series'] {
  const known = new Map(all.map((row) => [`${row.hour.getTime()}/${row.channel}`, row]));
  const start = startOfSeries(now, hours).getTime();
  return Array.from({ length: hours }, (_, i) => start + i * HOUR_MS).flatMap((at) =>
    CHANNELS.map((channel) => {
      const point = pointOf(known.get(`${at}/${bitOf(channel)}`), reader);
      return { bucket: new Date(at).toISOString(), channel, ...point };
    }),
  );
}

/** Counting this many takes a few milliseconds. When more were accepted, the rate is over the time that these took. */
const MAX_COUNTED = 2000;

/** Computes the rate at which messages were accepted in the last minute. */
async function acceptedPerSecond(db: Db, accountId: number, now: Date): Promise<number> {
  const firstId = firstIdAt(new Date(now.getTime() - MINUTE_MS));
  const { count, seen, oldestId } = await countAccepted(db, { accountId, firstId, limit: MAX_COUNTED });
  const isCut = seen === MAX_COUNTED && oldestId !== null;
  const spanMs = isCut ? now.getTime() - timeOfId(oldestId).getTime() : MINUTE_MS;
  return roundRate((count * 1000) / Math.max(1, spanMs));
}

/** Rounds a rate to two decimals. */
const roundRate = (rate: number): number => Math.round(rate * 100) / 100;

/** The scopes of which a caller needs at least one to see a kind. The other kinds are visible to every caller. */
const SCOPES_OF: Readonly<Partial<Record<AttentionKind, readonly Scope[]>>> = {
  webhook_failing: ['webhooks'],
  webhook_disabled: ['webhooks'],
  campaign_failed: ['campaigns'],
  campaign_paused: ['campaigns'],
  import_failed: ['contacts'],
  export_failed: ['exports'],
  social_disconnected: ['social'],
  template_rejected: ['WHATSAPP', 'RCS', 'campaigns'],
};

const NOTHING = { count: null, subject: null, subjectId: null, since: null, detail: null };

type Viewer = Pick<Actor, 'accountId' | 'operations' | 'channels'>;

/** Lists what needs attention according to the account's own tables, as far as the caller may see it. */
async function listOwnAttention(db: Db, { accountId, operations }: Viewer): Promise<Attention[]> {
  const kinds = ATTENTION_KINDS.filter((kind) => SCOPES_OF[kind]?.some((scope) => operations.has(scope)) ?? true);
  const rows = await listAttention(db, { accountId, kinds });
  return rows.map((row) => ({ ...row, since: row.since?.toISOString() ?? null }));
}

/** Lists what needs attention in the data that all accounts share: the carriers, and whether sending is paused. */
async function listSharedAttention(pool: Pool, { accountId, channels }: Viewer): Promise<Attention[]> {
  const [guard, unusable] = await Promise.all([
    findGuardStatus(pool),
    listUnusableConnections(pool, { accountId, channels: [...channels] }),
  ]);
  const paused: Attention = {
    ...NOTHING,
    kind: 'sending_paused',
    severity: 'error',
    since: guard.since.toISOString(),
    detail: guard.reason,
  };
  // A paused connection is not a problem if another one replaces it.
  const carriers = unusable
    .filter(({ status, covered }) => status === 'active' || !covered)
    .map(
      ({ name, status, since, covered }): Attention => ({
        ...NOTHING,
        kind: status === 'active' ? 'carrier_down' : 'carrier_paused',
        severity: covered ? 'warning' : 'error',
        subject: name,
        since: since?.toISOString() ?? null,
      }),
    );
  return guard.state === 'paused' ? [paused, ...carriers] : carriers;
}

type Money = { readonly availableMicros: number; readonly unlimited: boolean };

/** Reports low credit: none is left, or less than the last day cost. */
function creditAttention({ availableMicros, unlimited }: Money, lastDayMicros: number): Attention[] {
  if (unlimited || (availableMicros > 0 && availableMicros >= lastDayMicros)) return [];
  return [{ ...NOTHING, kind: 'low_credit', severity: availableMicros > 0 ? 'warning' : 'error' }];
}

/** Sorts by severity, worst first, and then in the order of `ATTENTION_KINDS`. */
const compareAttention = (a: Attention, b: Attention): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  ATTENTION_KINDS.indexOf(a.kind) - ATTENTION_KINDS.indexOf(b.kind);

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
type AttentionRow = RowOf<typeof ATTENTION>;
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
async function listAttention(
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

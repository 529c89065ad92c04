import {
  as,
  columns,
  type Db,
  join,
  many,
  maybeOne,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { existing, type FieldError, invalidFields } from '../core/errors.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/**
 * Returns a page of the non-empty buckets of all campaigns, and their total number. Takes milliseconds for any range.
 */
export async function findBuckets(tx: Db, filter: StatsFilter): Promise<{ total: number; rows: BucketRow[] }> {
  if (filter.unit !== 'hour') return listBuckets(tx, filter);
  const hours = hoursOf(await listActiveHours(tx, filter));
  const { length: total } = hours;
  if (filter.descending) hours.reverse();
  const page = hours.slice(filter.offset, filter.offset + filter.limit);
  if (page.length === 0) return { total, rows: [] };
  const range = { from: new Date(Math.min(...page)), to: new Date(Math.max(...page) + HOUR_MS) };
  const { rows } = await listBuckets(tx, { ...filter, ...range, offset: 0 });
  return { total, rows };
}

const hoursOf = (days: readonly ActiveDay[]): number[] =>
  days.flatMap(({ day, hours }) =>
    HOURS.filter((hour) => hours & (1 << hour)).map((hour) => Date.parse(day) + hour * HOUR_MS),
  );

/** The figures of one campaign in one bucket. Skipped recipients count in the bucket in which the campaign began. */
export type CampaignBucket = { readonly bucket: Date; readonly skipped: number; readonly channels: ChannelRow[] };

type CampaignInput = Partial<Range> & {
  readonly accountId: number;
  readonly campaignId: number;
  readonly unit: Unit;
};

/**
 * Returns all non-empty buckets of a campaign, oldest first: no more than the campaign lasted, so callers cut pages
 * from them. Errors: 404 when the account has no such campaign.
 */
export async function findCampaignBuckets(tx: Db, input: CampaignInput): Promise<CampaignBucket[]> {
  const start = await existing(findCampaignStart(tx, input));
  const buckets = new Map<number, CampaignBucket>();
  const { startedAt, bucket, skipped } = start;
  if (startedAt && bucket && isWithin(input, startedAt)) buckets.set(Number(bucket), { bucket, skipped, channels: [] });
  for (const row of await listChannelBuckets(tx, input)) {
    const known = buckets.get(Number(row.bucket)) ?? { bucket: row.bucket, skipped: 0, channels: [] };
    known.channels.push(row);
    buckets.set(Number(row.bucket), known);
  }
  return [...buckets.values()].toSorted((a, b) => Number(a.bucket) - Number(b.bucket));
}

const isWithin = ({ from, to }: Partial<Range>, at: Date): boolean => (!from || at >= from) && (!to || at < to);

/** Maximum range of statistics. */
export const MAX_YEARS = 10;

type Days = { readonly startDate?: string | undefined; readonly endDate?: string | undefined };

/**
 * Converts two days into the time from the midnight before the first one to the midnight after the last one, UTC. An
 * omitted day leaves that side open. Errors: 400 when the last day is before the first, or more than 10 years after it.
 */
export function readRange(days: Required<Days>): Range;
export function readRange(days: Days): Partial<Range>;
export function readRange({ startDate, endDate }: Days): Partial<Range> {
  const from = startDate === undefined ? undefined : new Date(startDate);
  const last = endDate === undefined ? undefined : new Date(endDate);
  if (from && last) checkOrder(from, last);
  return { ...(from && { from }), ...(last && { to: new Date(last.getTime() + DAY_MS) }) };
}

function checkOrder(from: Date, last: Date): void {
  const latest = new Date(from);
  latest.setUTCFullYear(from.getUTCFullYear() + MAX_YEARS);
  const fault = (message: string): readonly FieldError[] => [{ field: 'endDate', message }];
  if (last < from) throw invalidFields(fault('must not be before startDate'));
  if (last > latest) throw invalidFields(fault(`must be at most ${MAX_YEARS} years after startDate`));
}

/** The lengths of buckets, as date_trunc names them. Its weeks start on Monday. */
export const UNITS = ['hour', 'day', 'week', 'month'] as const;
export type Unit = (typeof UNITS)[number];

/** The sums of roll-ups. */
const SUMS = columns({
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  read: as<number>('sum(read)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  /** The part of `failed` that was never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type Sums = RowOf<typeof SUMS>;

/** The time from `from` on and before `to`. */
export type Range = { readonly from: Date; readonly to: Date };

export type StatsFilter = Range & {
  readonly accountId: number;
  readonly unit: Unit;
  /** The sending modes of the campaigns; null: all. */
  readonly modes: readonly string[] | null;
  /** True if campaigns that were never confirmed count, at the time at which they were created. */
  readonly drafts: boolean;
  readonly descending: boolean;
  readonly limit: number;
  readonly offset: number;
};

/** The columns of the roll-ups that `SUMS` adds up. */
const COUNTS = ['sent', 'delivered', 'read', 'failed', 'unsent', 'cost_micros'];
const NAMES = join(COUNTS.map((name) => raw(name)));
const NOTHING = raw(COUNTS.map(() => '0').join(', '));

const truncated = (unit: Unit, instant: Sql): Sql => sql`date_trunc(${unit}, ${instant}, 'UTC')`;

/**
 * Lists a page of the non-empty buckets, with their total number. Hours come from the hourly roll-up; days and longer
 * buckets come from the daily roll-up and from the hours that are not folded into it yet.
 */
export async function listBuckets(db: Db, filter: StatsFilter): Promise<{ total: number; rows: BucketRow[] }> {
  const { limit, offset } = filter;
  const order = raw(filter.descending ? 'bucket DESC' : 'bucket');
  const rows = await many<{ total: number } & (BucketRow | { bucket: null })>(
    db,
    sql`WITH buckets AS (${bucketsOf(filter)})
        SELECT counted.total, page.*
        FROM (SELECT count(*) AS total FROM buckets) AS counted
        LEFT JOIN (SELECT * FROM buckets ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}) AS page ON true
        ORDER BY ${order}`,
  );
  return { total: rows[0]?.total ?? 0, rows: rows.filter((row) => row.bucket !== null) };
}

const BUCKET = columns({
  bucket: as<Date>('bucket'),
  campaigns: as<number>('count(DISTINCT campaign_id)'),
  skipped: as<number>('sum(skipped)::bigint'),
});
export type BucketRow = Sums & RowOf<typeof BUCKET>;

const bucketsOf = (filter: StatsFilter): Sql => sql`SELECT ${BUCKET}, ${SUMS}
  FROM (${join([trafficOf(filter), ...beginningsOf(filter)], ' UNION ALL ')}) AS event GROUP BY bucket`;

function trafficOf(filter: StatsFilter): Sql {
  const { unit } = filter;
  const hours = sql`SELECT ${truncated(unit, sql`hour`)} AS bucket, campaign_id, ${NAMES}, 0 AS skipped
    FROM ${hoursIn(filter)}`;
  if (unit === 'hour') return hours;
  const start = sql`day::timestamp AT TIME ZONE 'UTC'`;
  return sql`${hours} AND shard >= 0 UNION ALL
    SELECT ${unit === 'day' ? start : truncated(unit, start)}, campaign_id, ${NAMES}, 0 FROM ${daysIn(filter)}`;
}

/** Selects the starts of campaigns, and drafts at the time at which they were created. */
function beginningsOf(filter: StatsFilter): Sql[] {
  const begin = (at: Sql, skipped: Sql, from: Sql): Sql =>
    sql`SELECT ${truncated(filter.unit, at)}, c.id, ${NOTHING}, ${skipped} FROM ${from}`;
  const started = begin(sql`c.started_at`, sql`coalesce(r.skipped, 0)`, startedIn(filter));
  return filter.drafts ? [started, begin(sql`c.created_at`, sql`0`, draftsIn(filter))] : [started];
}

const ACTIVE_DAY = columns({
  /** YYYY-MM-DD. */
  day: as<string>('day'),
  /** A bit for each active hour: 1 << 0 to 1 << 23. */
  hours: as<number>('bit_or(hours)'),
});
export type ActiveDay = RowOf<typeof ACTIVE_DAY>;

/**
 * Lists the hours with any activity, by day, oldest first. Callers cut pages from them: a year has thousands of hours.
 */
export function listActiveHours(db: Db, filter: StatsFilter): Promise<ActiveDay[]> {
  const at = (instant: Sql, from: Sql): Sql =>
    sql`SELECT (${instant} AT TIME ZONE 'UTC')::date, 1 << extract(hour FROM ${instant} AT TIME ZONE 'UTC')::int
      FROM ${from}`;
  const sources = [
    sql`SELECT day, hours FROM ${daysIn(filter)}`,
    sql`${at(sql`hour`, hoursIn(filter))} AND shard >= 0`,
    at(sql`c.started_at`, startedIn(filter)),
    ...(filter.drafts ? [at(sql`c.created_at`, draftsIn(filter))] : []),
  ];
  return many(db, sql`SELECT ${ACTIVE_DAY} FROM (${join(sources, ' UNION ALL ')}) AS active GROUP BY day ORDER BY day`);
}

const hoursIn = ({ accountId, from, to, ...filter }: StatsFilter): Sql => sql`traffic_hour
  WHERE account_id = ${accountId} AND campaign_id <> 0 AND hour >= ${from} AND hour < ${to}
    ${ofModes(accountId, filter, sql`campaign_id`)}`;

const daysIn = ({ accountId, from, to, ...filter }: StatsFilter): Sql => sql`traffic_day
  WHERE account_id = ${accountId} AND campaign_id <> 0 AND day >= ${dayOf(from)} AND day < ${dayOf(to)}
    ${ofModes(accountId, filter, sql`campaign_id`)}`;

const startedIn = ({ accountId, from, to, ...filter }: StatsFilter): Sql => sql`campaign c
  LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
  WHERE c.account_id = ${accountId} AND c.started_at >= ${from} AND c.started_at < ${to}
    ${ofModes(accountId, filter, sql`c.id`)}`;

const draftsIn = ({ accountId, from, to, ...filter }: StatsFilter): Sql => sql`campaign c
  WHERE c.account_id = ${accountId} AND c.confirmed_at IS NULL AND c.created_at >= ${from} AND c.created_at < ${to}
    ${ofModes(accountId, filter, sql`c.id`)}`;

const ofModes = (accountId: number, { modes }: Pick<StatsFilter, 'modes'>, id: Sql): Sql =>
  modes === null
    ? sql``
    : sql`AND ${id} IN (SELECT m.id FROM campaign m
        WHERE m.account_id = ${accountId} AND m.sending_mode = ANY(${textArray(modes)}::text[]))`;

const dayOf = (midnight: Date): Sql => sql`(${midnight}::timestamptz AT TIME ZONE 'UTC')::date`;

const channelBucket = (unit: Unit) =>
  columns({
    bucket: as<Date>(truncated(unit, sql`hour`)),
    /** The bit of the channel (src/core/channels.ts). */
    channel: as<number>('channel'),
  });
export type ChannelRow = Sums & RowOf<ReturnType<typeof channelBucket>>;

/** Lists the buckets of one campaign, oldest first: a row for each channel with messages in the bucket. */
export const listChannelBuckets = (
  db: Db,
  { accountId, campaignId, unit, from, to }: Partial<Range> & { accountId: number; campaignId: number; unit: Unit },
): Promise<ChannelRow[]> =>
  many(
    db,
    sql`SELECT ${channelBucket(unit)}, ${SUMS} FROM traffic_hour
      WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND campaign_id <> 0
        AND hour >= coalesce(${from ?? null}, '-infinity'::timestamptz)
        AND hour < coalesce(${to ?? null}, 'infinity'::timestamptz)
      GROUP BY 1, 2 ORDER BY 1, 2`,
  );

/**
 * Finds the start of a campaign and the bucket of that time (both null before it), and the number of recipients that it
 * skipped.
 */
const findCampaignStart = (
  db: Db,
  { accountId, campaignId, unit }: { accountId: number; campaignId: number; unit: Unit },
): Promise<{ startedAt: Date | null; bucket: Date | null; skipped: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT c.started_at AS "startedAt", ${truncated(unit, sql`c.started_at`)} AS bucket,
        coalesce(r.skipped, 0) AS skipped
      FROM campaign c LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
      WHERE c.account_id = ${accountId} AND c.id = ${campaignId}`,
  );

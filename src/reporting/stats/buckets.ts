import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import * as db from './sql.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/**
 * Returns a page of the non-empty buckets of all campaigns, and their total number. Takes milliseconds for any range.
 */
export async function findBuckets(tx: Db, filter: db.StatsFilter): Promise<{ total: number; rows: db.BucketRow[] }> {
  if (filter.unit !== 'hour') return db.listBuckets(tx, filter);
  const hours = hoursOf(await db.listActiveHours(tx, filter));
  const { length: total } = hours;
  if (filter.descending) hours.reverse();
  const page = hours.slice(filter.offset, filter.offset + filter.limit);
  if (page.length === 0) return { total, rows: [] };
  const range = { from: new Date(Math.min(...page)), to: new Date(Math.max(...page) + HOUR_MS) };
  const { rows } = await db.listBuckets(tx, { ...filter, ...range, offset: 0 });
  return { total, rows };
}

const hoursOf = (days: readonly db.ActiveDay[]): number[] =>
  days.flatMap(({ day, hours }) =>
    HOURS.filter((hour) => hours & (1 << hour)).map((hour) => Date.parse(day) + hour * HOUR_MS),
  );

/** The figures of one campaign in one bucket. Skipped recipients count in the bucket in which the campaign began. */
export type CampaignBucket = { readonly bucket: Date; readonly skipped: number; readonly channels: db.ChannelRow[] };

type CampaignInput = Partial<db.Range> & {
  readonly accountId: number;
  readonly campaignId: number;
  readonly unit: db.Unit;
};

/**
 * Returns all non-empty buckets of a campaign, oldest first: no more than the campaign lasted, so callers cut pages
 * from them. Errors: 404 when the account has no such campaign.
 */
export async function findCampaignBuckets(tx: Db, input: CampaignInput): Promise<CampaignBucket[]> {
  const start = await db.findCampaignStart(tx, input);
  if (!start) throw new AppError('not_found');
  const buckets = new Map<number, CampaignBucket>();
  const { startedAt, bucket, skipped } = start;
  if (startedAt && bucket && isWithin(input, startedAt)) buckets.set(Number(bucket), { bucket, skipped, channels: [] });
  for (const row of await db.listChannelBuckets(tx, input)) {
    const known = buckets.get(Number(row.bucket)) ?? { bucket: row.bucket, skipped: 0, channels: [] };
    known.channels.push(row);
    buckets.set(Number(row.bucket), known);
  }
  return [...buckets.values()].toSorted((a, b) => Number(a.bucket) - Number(b.bucket));
}

const isWithin = ({ from, to }: Partial<db.Range>, at: Date): boolean => (!from || at >= from) && (!to || at < to);

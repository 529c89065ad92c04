import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { type ChannelRow, findCampaignStart, listChannelBuckets, type Range, type Unit } from './sql.ts';

/** What happened to one campaign in one bucket; `skipped` is told where it began. */
export type CampaignBucket = { readonly bucket: Date; readonly skipped: number; readonly channels: ChannelRow[] };

/**
 * All buckets of a campaign that are not empty, the oldest first: as many as it lasted, so pages are cut from them.
 * 404 when the account has no such campaign.
 */
export async function findCampaignBuckets(
  db: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  input: Partial<Range> & { readonly campaignId: number; readonly unit: Unit },
): Promise<CampaignBucket[]> {
  const beginning = await findCampaignStart(db, { accountId, ...input });
  if (!beginning) throw new AppError('not_found');
  const buckets = new Map<number, CampaignBucket>();
  const { startedAt, bucket, skipped } = beginning;
  if (startedAt && bucket && isWithin(input, startedAt)) buckets.set(Number(bucket), { bucket, skipped, channels: [] });
  for (const row of await listChannelBuckets(db, { accountId, ...input })) {
    const made = buckets.get(Number(row.bucket)) ?? { bucket: row.bucket, skipped: 0, channels: [] };
    made.channels.push(row);
    buckets.set(Number(row.bucket), made);
  }
  return [...buckets.values()].toSorted((a, b) => Number(a.bucket) - Number(b.bucket));
}

const isWithin = ({ from, to }: Partial<Range>, at: Date): boolean => (!from || at >= from) && (!to || at < to);

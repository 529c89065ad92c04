import type { Static } from 'typebox';
import { toChannels } from '../../platform/lib/channel.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import type { CampaignBucket } from './campaign-buckets.ts';
import type { BucketOut, CampaignBucketOut } from './schema.ts';
import type { BucketRow, Sums } from './sql.ts';

/** `failed` has messages that no carrier was given, which are not in `sent`. */
const shownCounts = ({ sent, delivered, read, failed, unsent, costMicros }: Sums) => ({
  sent,
  delivered,
  read,
  failed,
  pending: sent - delivered - (failed - unsent),
  cost: fromMicros(costMicros),
});

/** A bucket as the interface writes it. */
export const toBucketOut = ({ bucket, campaigns, skipped, ...sums }: BucketRow): Static<typeof BucketOut> => ({
  bucket: bucket.toISOString(),
  campaigns,
  ...shownCounts(sums),
  skipped,
});

const NOTHING: Sums = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0, costMicros: 0 };
const added = (a: Sums, b: Sums): Sums => ({
  sent: a.sent + b.sent,
  delivered: a.delivered + b.delivered,
  read: a.read + b.read,
  failed: a.failed + b.failed,
  unsent: a.unsent + b.unsent,
  costMicros: a.costMicros + b.costMicros,
});

export const toCampaignBucketOut = (found: CampaignBucket): Static<typeof CampaignBucketOut> => ({
  bucket: found.bucket.toISOString(),
  campaigns: 1,
  ...shownCounts(found.channels.reduce(added, NOTHING)),
  skipped: found.skipped,
  channels: found.channels.flatMap(({ channel: bit, ...sums }) =>
    toChannels(bit).map((channel) => ({ channel, ...shownCounts(sums) })),
  ),
});

import { type Static, Type } from 'typebox';
import { SENDING_MODES } from '../../engagement/campaigns/mode.ts';
import { toChannels } from '../../platform/lib/channel.ts';
import { amountFor, type AmountReader, shownAmount } from '../../platform/lib/amounts.ts';
import { channelName, id } from '../../platform/lib/schema.ts';
import type { CampaignBucket } from './buckets.ts';
import { type BucketRow, type Sums, UNITS } from './sql.ts';

const day = (description: string) => Type.String({ format: 'date', description: `yyyy-MM-dd, UTC; ${description}` });
const MODE = SENDING_MODES.join('|');

const bucketFields = {
  aggregateOn: Type.Enum([...UNITS], {
    type: 'string',
    default: 'day',
    description: 'The length of a bucket. UTC; weeks start on Monday.',
  }),
  direction: Type.Enum(['ASC', 'DESC'], { type: 'string', default: 'ASC', description: 'Oldest or newest first.' }),
};

export const statsFields = {
  ...bucketFields,
  startDate: day('the first day.'),
  endDate: day('the last day, inclusive; at most 10 years after the first.'),
  sendingMode: Type.Optional(
    Type.String({
      pattern: `^(${MODE})(,(${MODE}))*$`,
      'x-message': `must be sending modes (${SENDING_MODES.join(', ')}), separated by commas`,
      description: 'Only campaigns with exactly this mode, or one of several modes separated by commas. Default: all.',
    }),
  ),
  isDraft: Type.Boolean({
    default: true,
    description: 'false excludes drafts that were never confirmed; otherwise `campaigns` includes them.',
  }),
};

export const campaignStatsFields = {
  ...bucketFields,
  startDate: Type.Optional(day('the first day. Default: from the beginning.')),
  endDate: Type.Optional(day('the last day, inclusive. Default: to the end.')),
};

export const CampaignId = Type.Object({ id: id() });

const whole = (description: string) => Type.Integer({ description });

const counts = {
  sent: whole('Messages given to a carrier, whether it accepted or rejected them or the outcome is unknown.'),
  delivered: whole('Messages delivered, including those that were read.'),
  read: whole('Messages read, as far as the channel reports it.'),
  failed: whole('Messages that ended undelivered, including those that ended before they were sent (cancelled).'),
  pending: whole('Messages of `sent` whose final status is not known yet.'),
  cost: shownAmount('The cost of these messages without refunds, in the currency of the account.'),
};

const Messages = Type.Object(
  {
    sent: Type.Integer(),
    delivered: Type.Integer(),
    read: Type.Integer(),
    failed: Type.Integer(),
    pending: Type.Integer(),
  },
  {
    description:
      'The counts of the bucket again, under their own name: they are messages, not recipients. In combined modes a ' +
      'recipient may have several; `totalSuccess` and `totalFailed` of a campaign count recipients.',
  },
);

const BUCKET = Type.String({
  format: 'date-time',
  description: 'Its start, UTC. The first bucket may start before `startDate`, but counts only from `startDate` on.',
});
const SKIPPED = whole('Recipients to whom nothing is sent, of the campaigns that began in the bucket.');

/** Messages count by the time at which they were accepted, whenever they were sent or delivered. */
export const BucketOut = Type.Object({
  bucket: BUCKET,
  campaigns: whole(
    'Distinct campaigns that have messages in the bucket or began in it, and drafts created in it (`isDraft`).',
  ),
  ...counts,
  messages: Messages,
  skipped: SKIPPED,
});

export const CampaignBucketOut = Type.Object({
  bucket: BUCKET,
  campaigns: whole('Always 1.'),
  ...counts,
  messages: Messages,
  skipped: SKIPPED,
  channels: Type.Array(Type.Object({ channel: channelName(), ...counts }), {
    description: 'The same figures by channel, without channels that have no messages.',
  }),
});

/** Counts as in responses. `failed` includes messages that no carrier was given, which are not part of `sent`. */
const toCounts = ({ sent, delivered, read, failed, unsent, costMicros }: Sums, reader: AmountReader) => ({
  sent,
  delivered,
  read,
  failed,
  pending: sent - delivered - (failed - unsent),
  cost: amountFor(reader, costMicros),
});

/** Returns the counts of a bucket, and again under the name of what they count: messages. */
function toNamedCounts(sums: Sums, reader: AmountReader) {
  const { cost, ...messages } = toCounts(sums, reader);
  return { ...messages, cost, messages };
}

export const toBucketOut = (
  { bucket, campaigns, skipped, ...sums }: BucketRow,
  reader: AmountReader,
): Static<typeof BucketOut> => ({
  bucket: bucket.toISOString(),
  campaigns,
  ...toNamedCounts(sums, reader),
  skipped,
});

const NOTHING: Sums = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0, costMicros: 0 };
const add = (a: Sums, b: Sums): Sums => ({
  sent: a.sent + b.sent,
  delivered: a.delivered + b.delivered,
  read: a.read + b.read,
  failed: a.failed + b.failed,
  unsent: a.unsent + b.unsent,
  costMicros: a.costMicros + b.costMicros,
});

export const toCampaignBucketOut = (found: CampaignBucket, reader: AmountReader): Static<typeof CampaignBucketOut> => ({
  bucket: found.bucket.toISOString(),
  campaigns: 1,
  ...toNamedCounts(found.channels.reduce(add, NOTHING), reader),
  skipped: found.skipped,
  channels: found.channels.flatMap(({ channel: bit, ...sums }) =>
    toChannels(bit).map((channel) => ({ channel, ...toCounts(sums, reader) })),
  ),
});

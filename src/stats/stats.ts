import { type Static, Type } from 'typebox';
import { SENDING_MODES } from '../campaigns/audience.ts';
import { toChannels } from '../core/channels.ts';
import { AppError } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { AGE_OF_REPORT, readReport } from '../core/http/errors.ts';
import { type AmountReader, amountFor, shownAmount } from '../core/money.ts';
import { channelName, id } from '../core/schema.ts';
import { FunnelOut, findFunnel, findResults, ResultsOut, toFunnelOut } from './results.ts';
import {
  type BucketRow,
  type CampaignBucket,
  findBuckets,
  findCampaignBuckets,
  readRange,
  type Sums,
  UNITS,
} from './stats-store.ts';

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

const statsFields = {
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

const campaignStatsFields = {
  ...bucketFields,
  startDate: Type.Optional(day('the first day. Default: from the beginning.')),
  endDate: Type.Optional(day('the last day, inclusive. Default: to the end.')),
};

const CampaignId = Type.Object({ id: id() });

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
const BucketOut = Type.Object({
  bucket: BUCKET,
  campaigns: whole(
    'Distinct campaigns that have messages in the bucket or began in it, and drafts created in it (`isDraft`).',
  ),
  ...counts,
  messages: Messages,
  skipped: SKIPPED,
});

const CampaignBucketOut = Type.Object({
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

const toBucketOut = (
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

const toCampaignBucketOut = (found: CampaignBucket, reader: AmountReader): Static<typeof CampaignBucketOut> => ({
  bucket: found.bucket.toISOString(),
  campaigns: 1,
  ...toNamedCounts(found.channels.reduce(add, NOTHING), reader),
  skipped: found.skipped,
  channels: found.channels.flatMap(({ channel: bit, ...sums }) =>
    toChannels(bit).map((channel) => ({ channel, ...toCounts(sums, reader) })),
  ),
});

const PATH = '/api/partner-gateway/v1/campaigns';

const StatsQuery = Type.Object({ ...pageFields, ...statsFields });
const CampaignStatsQuery = Type.Object({ ...pageFields, ...campaignStatsFields });

const HOW_COUNTED =
  'Messages and their outcomes count at the time at which the message was accepted, whenever the outcome became known. ' +
  `Empty buckets are omitted. Test sends of campaigns are not counted. ${AGE_OF_REPORT}`;

/** Registers the routes for the statistics of campaigns over time. */
export function statsRoutes(app: App, { reports }: PlatformDeps): void {
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.get(`${PATH}/stats`, {
    onRequest,
    schema: {
      tags,
      operationId: 'campaignStats',
      summary: 'Get statistics of all campaigns by hour, day, week or month',
      description: HOW_COUNTED,
      querystring: StatsQuery,
      response: { 200: PageOf(BucketOut) },
    },
    handler: async ({ actor, query }, reply) => {
      const { aggregateOn: unit, sendingMode, isDraft: drafts, limit } = query;
      const which = { unit, drafts, modes: sendingMode?.split(',') ?? null };
      const page = { limit, offset: offsetOf(query), descending: query.direction === 'DESC' };
      const filter = { accountId: actor.accountId, ...readRange(query), ...which, ...page };
      const { total, rows } = await readReport({ reports, actor, reply }, (db) => findBuckets(db, filter));
      return pageOf(
        query,
        rows.map((row) => toBucketOut(row, actor)),
        total,
      );
    },
  });

  app.get(`${PATH}/:id/stats`, {
    onRequest,
    schema: {
      tags,
      operationId: 'statsOfCampaign',
      summary: 'Get statistics of a campaign by channel and by hour, day, week or month',
      description: HOW_COUNTED,
      params: CampaignId,
      querystring: CampaignStatsQuery,
      response: { 200: PageOf(CampaignBucketOut) },
    },
    handler: async ({ actor, params, query }, reply) => {
      const { accountId } = actor;
      const input = { accountId, campaignId: params.id, unit: query.aggregateOn, ...readRange(query) };
      const found = await readReport({ reports, actor, reply }, (db) => findCampaignBuckets(db, input));
      if (query.direction === 'DESC') found.reverse();
      const page = found.slice(offsetOf(query), offsetOf(query) + query.limit);
      return pageOf(
        query,
        page.map((row) => toCampaignBucketOut(row, actor)),
        found.length,
      );
    },
  });

  app.get(`${PATH}/:id/funnel`, {
    onRequest,
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'funnelOfCampaign',
      summary: 'Get the funnel of a campaign: its recipients channel by channel',
      description: AGE_OF_REPORT,
      params: CampaignId,
      response: { 200: FunnelOut },
    },
    handler: async ({ actor, params }, reply) => {
      const of = { accountId: actor.accountId, campaignId: params.id };
      const found = await readReport({ reports, actor, reply }, async (db) => {
        const funnel = await findFunnel(db, of);
        // Checked in the callback: a standby may not have the campaign yet.
        if (!funnel) throw new AppError('not_found');
        return funnel;
      });
      return toFunnelOut(found);
    },
  });

  app.get(`${PATH}/:id/results`, {
    onRequest,
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'resultsOfCampaign',
      summary: 'Get campaign results: reasons of failure, replies, opt-outs, and figures by the minute',
      description: AGE_OF_REPORT,
      params: CampaignId,
      response: { 200: ResultsOut },
    },
    handler: ({ actor, params }, reply) => {
      const one = { accountId: actor.accountId, campaignId: params.id };
      return readReport({ reports, actor, reply }, (db) => findResults(db, one));
    },
  });
}

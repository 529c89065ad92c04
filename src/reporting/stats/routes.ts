import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { findBuckets } from './buckets.ts';
import { findCampaignBuckets } from './campaign-buckets.ts';
import { FunnelOut, toFunnelOut } from './funnel/schema.ts';
import { findFunnel } from './funnel/sql.ts';
import { readRange } from './range.ts';
import * as schema from './schema.ts';
import { toBucketOut, toCampaignBucketOut } from './show.ts';

const PATH = '/api/partner-gateway/v1/campaigns';

const StatsQuery = Type.Object({ ...pageFields, ...schema.statsFields });
const CampaignStatsQuery = Type.Object({ ...pageFields, ...schema.campaignStatsFields });

const HOW =
  'Messages count in the time at which they were accepted, and what became of them counts there too, whenever it ' +
  'became known. Buckets in which nothing was are left out. Tests of campaigns are not counted.';

/** Contract 3: what came of campaigns, over time. */
export function statsRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.get(`${PATH}/stats`, {
    onRequest,
    schema: {
      tags,
      operationId: 'campaignStats',
      summary: 'What came of all campaigns, by hour, day, week or month',
      description: HOW,
      querystring: StatsQuery,
      response: { 200: PageOf(schema.BucketOut) },
    },
    handler: async ({ actor, query }) => {
      const { aggregateOn: unit, sendingMode, isDraft: drafts, limit } = query;
      const which = { unit, drafts, modes: sendingMode?.split(',') ?? null };
      const page = { limit, offset: offsetOf(query), descending: query.direction === 'DESC' };
      const filter = { accountId: actor.accountId, ...readRange(query), ...which, ...page };
      const { total, rows } = await findBuckets(tenant(pool, actor), filter);
      return pageOf(query, rows.map(toBucketOut), total);
    },
  });

  app.get(`${PATH}/:id/stats`, {
    onRequest,
    schema: {
      tags,
      operationId: 'statsOfCampaign',
      summary: 'What came of one campaign, by hour, day, week or month, and by channel',
      description: HOW,
      params: schema.CampaignId,
      querystring: CampaignStatsQuery,
      response: { 200: PageOf(schema.CampaignBucketOut) },
    },
    handler: async ({ actor, params, query }) => {
      const input = { campaignId: params.id, unit: query.aggregateOn, ...readRange(query) };
      const found = await findCampaignBuckets(tenant(pool, actor), actor, input);
      if (query.direction === 'DESC') found.reverse();
      const page = found.slice(offsetOf(query), offsetOf(query) + query.limit);
      return pageOf(query, page.map(toCampaignBucketOut), found.length);
    },
  });

  app.get(`${PATH}/:id/funnel`, {
    onRequest,
    schema: {
      tags,
      operationId: 'funnelOfCampaign',
      summary: 'How far the recipients of one campaign came, channel by channel',
      params: schema.CampaignId,
      response: { 200: FunnelOut },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const found = await findFunnel(tenant(pool, { accountId }), { accountId, campaignId: params.id });
      if (!found) throw new AppError('not_found');
      return toFunnelOut(found);
    },
  });
}

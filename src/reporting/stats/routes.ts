import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../platform/http/page.ts';
import { AGE_OF_REPORT, readReport } from '../../platform/http/report.ts';
import { findBuckets, findCampaignBuckets } from './buckets.ts';
import { FunnelOut, toFunnelOut } from './funnel/schema.ts';
import { findFunnel } from './funnel/sql.ts';
import { findResults } from './results/find.ts';
import { ResultsOut } from './results/schema.ts';
import { readRange } from './range.ts';
import * as schema from './schema.ts';

const PATH = '/api/partner-gateway/v1/campaigns';

const StatsQuery = Type.Object({ ...pageFields, ...schema.statsFields });
const CampaignStatsQuery = Type.Object({ ...pageFields, ...schema.campaignStatsFields });

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
      response: { 200: PageOf(schema.BucketOut) },
    },
    handler: async ({ actor, query }, reply) => {
      const { aggregateOn: unit, sendingMode, isDraft: drafts, limit } = query;
      const which = { unit, drafts, modes: sendingMode?.split(',') ?? null };
      const page = { limit, offset: offsetOf(query), descending: query.direction === 'DESC' };
      const filter = { accountId: actor.accountId, ...readRange(query), ...which, ...page };
      const { total, rows } = await readReport({ reports, actor, reply }, (db) => findBuckets(db, filter));
      return pageOf(
        query,
        rows.map((row) => schema.toBucketOut(row, actor)),
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
      params: schema.CampaignId,
      querystring: CampaignStatsQuery,
      response: { 200: PageOf(schema.CampaignBucketOut) },
    },
    handler: async ({ actor, params, query }, reply) => {
      const { accountId } = actor;
      const input = { accountId, campaignId: params.id, unit: query.aggregateOn, ...readRange(query) };
      const found = await readReport({ reports, actor, reply }, (db) => findCampaignBuckets(db, input));
      if (query.direction === 'DESC') found.reverse();
      const page = found.slice(offsetOf(query), offsetOf(query) + query.limit);
      return pageOf(
        query,
        page.map((row) => schema.toCampaignBucketOut(row, actor)),
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
      params: schema.CampaignId,
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
      params: schema.CampaignId,
      response: { 200: ResultsOut },
    },
    handler: ({ actor, params }, reply) => {
      const one = { accountId: actor.accountId, campaignId: params.id };
      return readReport({ reports, actor, reply }, (db) => findResults(db, one));
    },
  });
}

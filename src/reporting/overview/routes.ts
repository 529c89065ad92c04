import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { findFirstSteps } from './first-steps.ts';
import { findPeriod } from './period.ts';
import { FirstStepsOut, OverviewOut, OverviewQuery, PeriodOut, PeriodQuery } from './schema.ts';
import { createOverview } from './show.ts';

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

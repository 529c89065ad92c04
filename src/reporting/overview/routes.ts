import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { OverviewOut, OverviewQuery } from './schema.ts';
import { createOverview } from './show.ts';

/** The route behind the first page of the console. */
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
}

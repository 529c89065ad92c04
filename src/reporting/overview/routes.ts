import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { OverviewOut, OverviewQuery } from './schema.ts';
import { createOverview } from './show.ts';

/** What the first page of the console shows. */
export function overviewRoutes(app: App, { pool, clock }: PlatformDeps): void {
  const show = createOverview(pool);

  app.get('/api/partner-gateway/v1/overview', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'findOverview',
      summary: 'How the account is doing at this moment, and what needs somebody',
      description:
        'To be asked every few seconds. Figures are those of the roll-ups, exact when they are read; simulations ' +
        'are not counted. Rates compare with what was read before, so `delivered` and `failed` are ' +
        'null at first.',
      querystring: OverviewQuery,
      response: { 200: OverviewOut },
    },
    handler: ({ actor, query }) => show(actor, { ...query, now: clock.now() }),
  });
}

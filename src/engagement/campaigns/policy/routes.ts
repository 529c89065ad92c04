import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { changePolicy, NO_POLICY } from './change.ts';
import { PolicyIn, PolicyOut } from './schema.ts';
import { findPolicy } from './sql.ts';

const PATH = '/api/partner-gateway/v1/account/campaigns';
const tags = ['Account'];

/** What an account wants of all its campaigns: quiet hours and which senders they may have. */
export function policyRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'getCampaignPolicy',
      summary: 'What holds for all campaigns of the account',
      response: { 200: PolicyOut },
    },
    handler: async ({ actor }) => (await findPolicy(tenant(pool, actor), actor)) ?? NO_POLICY,
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putCampaignPolicy',
      summary: 'Change what holds for all campaigns of the account; what is left out stays',
      description:
        'For owners and admins, and keys with the scope `keys`. Campaigns that are confirmed keep their sender.',
      body: PolicyIn,
      response: { 200: PolicyOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changePolicy(tx, actor, body)),
  });
}

import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { changePolicy, NO_POLICY } from './change.ts';
import { PolicyIn, PolicyOut } from './schema.ts';
import { findPolicy } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const PATH = '/api/partner-gateway/v1/account/campaigns';
const tags = ['Account'];

/** Registers the routes of the account's policy for all its campaigns: quiet hours and allowed senders. */
export function policyRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'getCampaignPolicy',
      summary: 'Get the policy for all campaigns of the account',
      response: { 200: PolicyOut },
    },
    handler: async ({ actor }) => (await findPolicy(tenant(pool, actor), actor)) ?? NO_POLICY,
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putCampaignPolicy',
      summary: 'Change the policy for all campaigns of the account',
      description:
        'Omitted fields are unchanged. For admins, and keys with the scope `keys`. Confirmed campaigns keep ' +
        'their sender.',
      body: withExamples(PolicyIn, { quietHours: { from: '21:00', to: '08:00' }, smsSenders: ['ACME'] }),
      response: { 200: PolicyOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changePolicy(tx, actor, body)),
  });
}

import { Type } from 'typebox';
import { tenant } from '../db/tenant.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { CreditOut } from './schema.ts';
import { creditOf } from './show.ts';

/** Contract 7 and 12: what the account has to spend. */
export function creditRoutes(app: App, { pool }: ApiDeps): void {
  app.get('/services/sms/credit', {
    schema: {
      tags: ['Account'],
      operationId: 'findCredit',
      summary: 'The credit that can be spent',
      response: { 200: Type.Object({ credit: Type.Number() }) },
    },
    handler: async ({ actor }) => ({ credit: (await creditOf(tenant(pool, actor), actor)).availableCredit }),
  });

  app.get('/api/partner-gateway/v1/subscription/credit', {
    schema: {
      tags: ['Account'],
      operationId: 'findSubscriptionCredit',
      summary: 'The credit, and how much of it is reserved',
      response: { 200: CreditOut },
    },
    handler: ({ actor }) => creditOf(tenant(pool, actor), actor),
  });
}

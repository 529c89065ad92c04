import { Type } from 'typebox';
import type { Db } from '../db/query.ts';
import { tenant } from '../db/tenant.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { fromMicros } from '../lib/money.ts';
import { findBalance } from './sql.ts';

const CreditOut = Type.Object({
  credit: Type.Number({ description: 'Available and frozen together.' }),
  frozenCredit: Type.Number({ description: 'Reserved for messages whose outcome is open.' }),
  availableCredit: Type.Number(),
  currency: Type.String(),
});

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

async function creditOf(pool: Db, { accountId }: { readonly accountId: number }) {
  const { availableMicros = 0, frozenMicros = 0, currency = 'EUR' } = (await findBalance(pool, { accountId })) ?? {};
  return {
    credit: fromMicros(availableMicros + frozenMicros),
    frozenCredit: fromMicros(frozenMicros),
    availableCredit: fromMicros(availableMicros),
    currency,
  };
}

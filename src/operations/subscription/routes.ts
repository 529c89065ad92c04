import { Type } from 'typebox';
import { findBook } from '../../engagement/contacts/book/sql.ts';
import { limitsOf } from '../../engagement/contacts/limits.ts';
import { LimitsOut } from '../../engagement/contacts/schema.ts';
import { CreditOut } from '../../money/credit/schema.ts';
import { creditOf } from '../../money/credit/show.ts';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { PLANS } from '../../platform/lib/plan.ts';
import { channelName } from '../../platform/lib/schema.ts';

const SubscriptionOut = Type.Object({
  plan: Type.Enum([...PLANS], {
    type: 'string',
    description: 'Plan, which sets the priority of its traffic and its limits.',
  }),
  channels: Type.Array(channelName(), {
    description: 'Sends, campaigns and templates on other channels are denied with 403.',
  }),
  contacts: LimitsOut,
  credit: CreditOut,
});

/** Registers the route that shows the plan of the account. */
export function subscriptionRoutes(app: App, { pool }: PlatformDeps): void {
  app.get('/api/partner-gateway/v1/subscription', {
    onRequest: requireScope('money'),
    schema: {
      tags: ['Account'],
      operationId: 'findSubscription',
      summary: 'Get the plan of the account: its channels, contacts and credit',
      response: { 200: SubscriptionOut },
    },
    handler: async ({ actor }) => {
      const db = tenant(pool, actor);
      const [book, credit] = await Promise.all([findBook(db, actor), creditOf(db, actor)]);
      if (!book) throw new AppError('not_found');
      const channels = CHANNELS.filter((channel) => actor.channels.has(channel));
      return { plan: actor.plan, channels, contacts: limitsOf(book), credit };
    },
  });
}

import { tenantTransaction } from '../../../platform/db/tenant.ts';
import { requireAnyScope, requireScope } from '../../../platform/http/auth.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { CHANNELS } from '../../../platform/lib/channel.ts';
import { changeNumberRules } from './change.ts';
import { NumberRulesIn, NumberRulesOut } from './schema.ts';

const PATH = '/api/partner-gateway/v1/account/numbers';
const tags = ['Account'];

/** Registers the routes for the phone-number rules of the account. */
export function numberRulesRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireAnyScope([...CHANNELS, 'contacts', 'campaigns', 'keys'], 'read'),
    schema: {
      tags,
      operationId: 'getNumberRules',
      summary: 'Get the phone-number rules',
      response: { 200: NumberRulesOut },
    },
    handler: async ({ actor }) => actor.numberRules,
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putNumberRules',
      summary: 'Change the phone-number rules',
      description:
        'In sends, replies, contacts, imports and campaigns, from the next request on; numbers that are stored stay as they ' +
        'are. Omitted fields are unchanged. For admins, and keys with the scope `keys`.',
      body: withExamples(NumberRulesIn, { defaultCountry: 'IT', numberChecks: 'strict' }),
      response: { 200: NumberRulesOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeNumberRules(tx, actor, body)),
  });
}

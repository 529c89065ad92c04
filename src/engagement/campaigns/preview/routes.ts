import { Type } from 'typebox';
import { refuseOutsidePlan } from '../../../identity/accounts/gate.ts';
import { listFields } from '../../contacts/fields/sql.ts';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { setStatementTimeoutMinutes } from '../../../platform/db/transaction.ts';
import { assertScope, requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { chainOf } from '../mode.ts';
import { placeholdersWith } from './fields.ts';
import { previewCampaign } from './preview.ts';
import { PlaceholderOut, PreviewIn, PreviewOut } from './schema.ts';
import { withExamples } from '../../../platform/http/schema.ts';

/** Finding the skipped recipients among a million takes seconds. */
const MAX_MINUTES = 2;
const PG = '/api/partner-gateway/v1';

/** Registers the routes that show the messages of a campaign while it is being edited. */
export function previewRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.post(`${PG}/campaigns/preview`, {
    onRequest: requireScope('campaigns', 'read'),
    schema: {
      tags,
      operationId: 'previewCampaign',
      summary: 'Preview the messages of a campaign to some of its recipients',
      description:
        'Nothing is stored, so settings can be previewed before they are saved. Faults are listed in `problems`. Contacts ' +
        'and lists that do not exist are ignored. With contacts or lists, the scope "contacts" is also required.',
      body: withExamples(PreviewIn, {
        sendingMode: 'SMS',
        smsSender: 'ACME',
        smsBody: 'Hello {{firstName|there}}',
        contactListIds: [1],
        limit: 2,
        offset: 0,
      }),
      response: { 200: PreviewOut },
    },
    handler: idempotentHandler(deps, async (request, _reply) => {
      const { actor, body } = request;
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      if (body.contactIds?.length || body.contactListIds?.length) assertScope(request, 'contacts', 'read');
      const input = { ...body, now: clock.now() };
      if (body.skip === undefined) return previewCampaign(tenant(pool, actor), actor, input);
      return tenantTransaction(pool, actor, async (tx) => {
        await setStatementTimeoutMinutes(tx, MAX_MINUTES);
        return previewCampaign(tx, actor, input);
      });
    }),
  });

  app.get(`${PG}/contacts/placeholders`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listPlaceholders',
      summary: 'List the placeholders for the texts of campaigns',
      response: { 200: Type.Array(PlaceholderOut) },
    },
    handler: async ({ actor }) => {
      const all = placeholdersWith(await listFields(tenant(pool, actor), actor));
      return all.map(({ name, custom, type, description }) => ({ name, custom, type, description }));
    },
  });
}

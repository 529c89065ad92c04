import { Type } from 'typebox';
import { refuseOutsidePlan } from '../../../identity/accounts/refuse-outside-plan.ts';
import { listFields } from '../../contacts/fields/sql.ts';
import { tenant } from '../../../platform/db/tenant.ts';
import { demandScope, requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { keeping } from '../../../platform/http/idempotency.ts';
import { chainOf } from '../mode.ts';
import { placeholdersWith } from './fields.ts';
import { previewCampaign } from './preview.ts';
import { PlaceholderOut, PreviewIn, PreviewOut } from './schema.ts';

const PG = '/api/partner-gateway/v1';

/** What campaigns would send, while they are being written. */
export function previewRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.post(`${PG}/campaigns/preview`, {
    onRequest,
    schema: {
      tags,
      operationId: 'previewCampaign',
      summary: 'What a campaign with these settings would send to some of its recipients',
      description:
        'Nothing is stored, so that what is not saved yet can be seen. What is at fault stands in `problems`. Contacts ' +
        'and lists that there are not are left out. With contacts or lists it needs the scope "contacts" too.',
      body: PreviewIn,
      response: { 200: PreviewOut },
    },
    handler: keeping(deps, async (request, _reply) => {
      const { actor, body } = request;
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      if (body.contactIds?.length || body.contactListIds?.length) demandScope(request, 'contacts');
      return previewCampaign(tenant(pool, actor), actor, { ...body, now: clock.now() });
    }),
  });

  app.get(`${PG}/contacts/placeholders`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listPlaceholders',
      summary: 'What may stand between the braces of a campaign’s texts',
      response: { 200: Type.Array(PlaceholderOut) },
    },
    handler: async ({ actor }) => {
      const all = placeholdersWith(await listFields(tenant(pool, actor), actor));
      return all.map(({ name, custom, type, description }) => ({ name, custom, type, description }));
    },
  });
}

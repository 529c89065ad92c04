import { refuseOutsidePlan } from '../../../identity/accounts/gate.ts';
import { tenantTransaction } from '../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { assertScope, requireScope } from '../../../platform/http/auth.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { chainOf } from '../mode.ts';
import { reviewCampaign } from './review.ts';
import { ReviewIn, ReviewOut } from './schema.ts';

const PATH = '/api/partner-gateway/v1/campaigns/preview';
/** Enough for 100,000 numbers. */
const LIMIT_BYTES = 4 * 1024 * 1024;

/** Registers the route that reviews a campaign before it is saved. */
export function reviewRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;

  app.post(`${PATH}/review`, {
    onRequest: requireScope('campaigns', 'read'),
    bodyLimit: LIMIT_BYTES,
    config: { takesTurns: true },
    schema: {
      tags: ['Campaigns'],
      operationId: 'reviewCampaign',
      summary: 'Estimate the recipients and the cost of a campaign',
      description:
        'Nothing is stored: it gives the figures of calculateGoal for settings that are not saved, or not applied, ' +
        'with the expected results of each channel by the history of the account. With lists, the scope "contacts" is ' +
        'also required.',
      body: withExamples(ReviewIn, {
        sendingMode: 'SMS',
        smsSender: 'ACME',
        smsBody: 'Hello {{firstName|there}}',
        contactListIds: [1],
      }),
      response: { 200: ReviewOut },
    },
    handler: idempotentHandler(deps, async (request, _reply) => {
      const { actor, body } = request;
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      if (body.contactListIds?.length) assertScope(request, 'contacts', 'read');
      return tenantTransaction(pool, actor, (tx) => reviewCampaign(tx, actor, { ...body, now: clock.now() }));
    }),
  });
}

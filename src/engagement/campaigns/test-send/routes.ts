import type { Accept } from '../../../messaging/sending/accept.ts';
import { tenant } from '../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { assertScope, requireScope } from '../../../platform/http/auth.ts';
import { idempotentHandler, type PendingAnswer } from '../../../platform/http/idempotency.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { CampaignId } from '../schema.ts';
import { TestIn, TestOut } from './schema.ts';
import { sendTest, type TestAnswerStore } from './send.ts';
import { PhoneTestIn, sendToPhone } from './to-phone.ts';

const PATH = '/api/partner-gateway/v1/campaigns';

const TEXT = { sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hello {{firstName|there}}' } as const;

/**
 * Registers the routes that try out a campaign with real messages: on test lists, or on one phone before it is saved.
 */
export function testRoutes(app: App, deps: PlatformDeps & { readonly accept: Accept }): void {
  const { pool, clock, accept, answers } = deps;
  const tags = ['Campaigns'];
  const answerStoreOf = (pending: PendingAnswer | undefined): TestAnswerStore | undefined =>
    pending && {
      claim: (tx) => answers.claim(tx, pending),
      store: (tx, answer) => answers.store(tx, pending.seal(answer)),
    };

  app.post(`${PATH}/:id/test`, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'testCampaign',
      summary: 'Send a campaign to the contacts of test lists',
      description:
        'It is sent as it is now, to at most 100 contacts, each on the first channel that reaches it. The messages are ' +
        'charged as single messages and are not part of the figures of the campaign.',
      params: CampaignId,
      body: withExamples(TestIn, { contactListIds: [2] }),
      response: { 200: TestOut },
    },
    handler: idempotentHandler(deps, ({ actor, params, body }, _reply, pendingAnswer) => {
      const input = { ...params, contactListIds: body?.contactListIds, answerStore: answerStoreOf(pendingAnswer) };
      return sendTest({ db: tenant(pool, actor), accept }, actor, input);
    }),
  });

  app.post(`${PATH}/preview/send`, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'sendCampaignToPhone',
      summary: 'Send a message of a campaign to one phone',
      description:
        'Settings need not be saved. It is charged as a single message and is not part of the figures of any campaign. With ' +
        'a contact, the scope "contacts" is also required.',
      body: withExamples(PhoneTestIn, { ...TEXT, phoneNumber: '+61491570156' }),
      response: { 200: TestOut },
    },
    handler: idempotentHandler(deps, (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.contactId !== undefined) assertScope(request, 'contacts', 'read');
      return sendToPhone({ db: tenant(pool, actor), accept }, actor, {
        ...body,
        now: clock.now(),
        answerStore: answerStoreOf(pendingAnswer),
      });
    }),
  });
}

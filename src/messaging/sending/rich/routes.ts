import { tenant } from '../../../platform/db/tenant.ts';
import { demandScope, requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import type { Accept } from '../accept.ts';
import { keeping } from '../../../platform/http/idempotency.ts';
import { ErrorOut, ref } from '../../../platform/http/schema.ts';
import type { Verdict } from '../draft.ts';
import { idempotentSend } from '../idempotent-send.ts';
import { answerRich } from './answer.ts';
import { readRcsSend, readWhatsappSend } from './read.ts';
import * as schema from './schema.ts';

const MS = '/api/message-server';

const FOLLOWED =
  '\n\nWith a fallback, another message follows on the next channel when this one fails, or has not been delivered after ' +
  '`fallback.after` seconds: an RCS message only when its network has taken it back, and none while nobody knows whether ' +
  'the one before was sent. Each is a message with an id, a price, a record and webhook events of its own; all have your ' +
  '`messageId` as their customerMessageId, the status by which is that of the newest. The answer names the first. One ' +
  'that must not be sent (opted out, no credit, …) ends REJECTED at no price, and nothing follows it. What arrives late ' +
  'changes only the message that it is about. Cancelling a message ends the chain. The credentials need the scopes of ' +
  'all its channels.';

/** Contract 7: single sends on WhatsApp and RCS. */
export function richMessageRoutes(app: App, deps: PlatformDeps & { readonly accept: Accept }): void {
  const { accept, clock, pool } = deps;

  app.post(`${MS}/whatsapp/send`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'sendWhatsapp',
      summary: 'Send one WhatsApp message: a template, or a body to somebody who wrote within 24 hours',
      description:
        'A template is checked before anything is sent: 400 when it is unknown, not approved, or its values do not fit. ' +
        'A body outside the 24 hours is accepted and ends CONVERSATION_CLOSED.' +
        FOLLOWED,
      body: schema.WhatsappSendIn,
      response: { 200: schema.WhatsappSendOut, 409: ref(ErrorOut) },
    },
    handler: keeping(deps, async (request, _reply, keep) => {
      const { actor, body } = request;
      if (body.fallbackRcs) demandScope(request, 'RCS');
      if (body.fallbackSms) demandScope(request, 'SMS');
      const draft = await readWhatsappSend(tenant(pool, actor), actor, body, clock.now());
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(body, verdict);
        return { ...rest, results: { whatsapp: result } };
      };
      return answer(await accept.one(actor, draft, keep && idempotentSend(keep, answer)));
    }),
  });

  app.post(`${MS}/rcs/send`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'sendRcs',
      summary: 'Send one RCS message: a template or a body',
      description: `To a number that RCS does not reach it is accepted and ends UNSUPPORTED.${FOLLOWED}`,
      body: schema.RcsSendIn,
      response: { 200: schema.RcsSendOut, 409: ref(ErrorOut) },
    },
    handler: keeping(deps, async (request, _reply, keep) => {
      const { actor, body } = request;
      if (body.fallbackSms) demandScope(request, 'SMS');
      const draft = await readRcsSend(tenant(pool, actor), actor, body, clock.now());
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(body, verdict);
        return { ...rest, results: { rcs: result } };
      };
      return answer(await accept.one(actor, draft, keep && idempotentSend(keep, answer)));
    }),
  });
}

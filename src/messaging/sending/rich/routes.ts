import { tenant } from '../../../platform/db/tenant.ts';
import { assertScope, requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import type { Accept } from '../accept.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { ErrorOut, ref, withExamples } from '../../../platform/http/schema.ts';
import type { Verdict } from '../draft.ts';
import { idempotentSend } from '../idempotent-send.ts';
import { answerRich } from '../answer.ts';
import { readRcsSend, readWhatsappSend } from './read.ts';
import * as schema from './schema.ts';

const MS = '/api/message-server';

const FALLBACK =
  '\n\nWith a fallback, another message follows on the next channel when this one fails, or has not been delivered after ' +
  '`fallback.after` seconds. It follows an RCS message only when the network has revoked that one, and never while the ' +
  'outcome of the previous message is unknown. Each message has its own id, price, record and webhook events; ' +
  'all have your `customerMessageId`, under which you get the status of the newest. The response names ' +
  'the first. A message that must not be sent (opted out, no credit, …) ends REJECTED at no price, and nothing follows ' +
  'it. A late receipt changes only the message that it reports on. Cancelling a message ends the chain. The credentials ' +
  'need the scopes of all channels.';

export type RichRouteDeps = PlatformDeps & {
  readonly accept: Accept;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

/** Registers the routes of single sends on WhatsApp and RCS. */
export function richMessageRoutes(app: App, deps: RichRouteDeps): void {
  const { accept, clock, config, pool, tracing } = deps;

  app.post(`${MS}/whatsapp/send`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'sendWhatsapp',
      summary: 'Send one WhatsApp message',
      description:
        'A template, or a body to a person who wrote within 24 hours. A template is checked before anything is sent: 400 ' +
        'when it is unknown or not approved, or when its values do not fit. A body after the 24 hours is accepted and ends ' +
        `CONVERSATION_CLOSED.${FALLBACK}`,
      body: withExamples(schema.WhatsappSendIn, schema.WHATSAPP_EXAMPLE),
      response: { 200: schema.WhatsappSendOut, 409: ref(ErrorOut) },
    },
    handler: idempotentHandler(deps, async (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.fallbackRcs) assertScope(request, 'RCS');
      if (body.fallbackSms) assertScope(request, 'SMS');
      const draft = await readWhatsappSend(tenant(pool, actor), actor, body, clock.now(), config.maxScheduleDays);
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(actor, body, verdict);
        return { ...rest, results: { whatsapp: result } };
      };
      const traced = tracing ? { ...draft, caller: tracing.callerOf(request.headers) } : draft;
      return answer(await accept.one(actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });

  app.post(`${MS}/rcs/send`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'sendRcs',
      summary: 'Send one RCS message',
      description:
        'A template or a body. A message to a number that RCS does not reach is accepted and ends ' +
        `UNSUPPORTED.${FALLBACK}`,
      body: withExamples(schema.RcsSendIn, schema.RCS_EXAMPLE),
      response: { 200: schema.RcsSendOut, 409: ref(ErrorOut) },
    },
    handler: idempotentHandler(deps, async (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.fallbackSms) assertScope(request, 'SMS');
      const draft = await readRcsSend(tenant(pool, actor), actor, body, clock.now(), config.maxScheduleDays);
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(actor, body, verdict);
        return { ...rest, results: { rcs: result } };
      };
      const traced = tracing ? { ...draft, caller: tracing.callerOf(request.headers) } : draft;
      return answer(await accept.one(actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });
}

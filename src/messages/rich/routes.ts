import { tenant } from '../../db/tenant.ts';
import { requireScope } from '../../http/auth.ts';
import type { ApiDeps, App } from '../../http/deps.ts';
import { keeping } from '../../http/idempotency.ts';
import { ErrorOut, ref } from '../../http/schema.ts';
import type { Verdict } from '../draft.ts';
import { keyedSend } from '../keyed.ts';
import { answerRich } from './answer.ts';
import { readRcsSend, readWhatsappSend } from './read.ts';
import * as schema from './schema.ts';

const MS = '/api/message-server';

/** Contract 7: single sends on WhatsApp and RCS. */
export function richMessageRoutes(app: App, deps: ApiDeps): void {
  const { accept, clock, pool } = deps;

  app.post(`${MS}/whatsapp/send`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'sendWhatsapp',
      summary: 'Send one WhatsApp message: a template, or a body to somebody who wrote within 24 hours',
      description:
        'A template is checked before anything is sent: 400 when it is unknown, not approved, or its values do not fit. ' +
        'A body outside the 24 hours is accepted and ends CONVERSATION_CLOSED.',
      body: schema.WhatsappSendIn,
      response: { 200: schema.WhatsappSendOut, 409: ref(ErrorOut) },
    },
    handler: keeping(deps, async ({ actor, body }, _reply, keep) => {
      const draft = await readWhatsappSend(tenant(pool, actor), actor, body, clock.now());
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(body, verdict);
        return { ...rest, results: { whatsapp: result } };
      };
      return answer(await accept.one(actor, draft, keep && keyedSend(keep, answer)));
    }),
  });

  app.post(`${MS}/rcs/send`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'sendRcs',
      summary: 'Send one RCS message: a template or a body',
      description: 'To a number that RCS does not reach it is accepted and ends UNSUPPORTED.',
      body: schema.RcsSendIn,
      response: { 200: schema.RcsSendOut, 409: ref(ErrorOut) },
    },
    handler: keeping(deps, async ({ actor, body }, _reply, keep) => {
      const draft = await readRcsSend(tenant(pool, actor), actor, body, clock.now());
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(body, verdict);
        return { ...rest, results: { rcs: result } };
      };
      return answer(await accept.one(actor, draft, keep && keyedSend(keep, answer)));
    }),
  });
}

import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { App } from '../../platform/http/app.ts';
import type { Accept } from './accept.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { ErrorOut, ref, WholesaleErrorOut } from '../../platform/http/schema.ts';
import { findRecords } from '../tracking/status.ts';
import { answerMessageServer, answerSend } from './answer.ts';
import type { Verdict } from './draft.ts';
import { idempotentSend } from './idempotent-send.ts';
import { sendBulk } from './bulk/send.ts';
import { cancelMessage } from '../cancellation/cancel.ts';
import { type PreviewRouteDeps, previewRoutes } from './preview/routes.ts';
import { readMessageServer, readSend } from './read-send.ts';
import * as schema from './schema.ts';

const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';
const MESSAGES = '/api/partner-gateway/v1/messages';

const BULK_LIMIT_BYTES = 16 * 1024 * 1024;

const isSend = (body: schema.SendIn | schema.MessageServerIn): body is schema.SendIn => 'phoneNumber' in body;

export type SendRouteDeps = PreviewRouteDeps & { readonly accept: Accept };

/** The routes of single sends, bulk sends and cancellation (contract 7). */
export function sendingRoutes(app: App, deps: SendRouteDeps): void {
  const { accept, clock, pool } = deps;
  previewRoutes(app, deps);
  const maySend = requireScope('SMS');

  app.post(SEND, {
    onRequest: maySend,
    schema: {
      tags: ['Sending'],
      operationId: 'sendSms',
      summary: 'Send one SMS',
      description:
        'Two bodies are accepted: the short one and that of the message server. The answer has the form of the body. A ' +
        '`campaignId` is ignored, like every field that is not named here: single messages belong to no campaign.',
      body: Type.Union([schema.SendIn, schema.MessageServerIn]),
      response: { 200: Type.Union([schema.SendOut, schema.MessageServerOut]), 409: ref(ErrorOut) },
    },
    handler: idempotentHandler(deps, async ({ actor, body }, _reply, pendingAnswer) => {
      const draft = isSend(body) ? readSend(body) : readMessageServer(body, clock.now());
      const answer = (verdict: Verdict) =>
        isSend(body) ? answerSend(body, verdict) : answerMessageServer(body, verdict);
      return answer(await accept.one(actor, draft, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });

  app.post(BULK, {
    onRequest: maySend,
    bodyLimit: BULK_LIMIT_BYTES,
    schema: {
      tags: ['Sending'],
      operationId: 'sendBulkSms',
      summary: 'Send up to 10,000 SMS in one request',
      description:
        'Each destination has a result of its own, in the order of the request: a bad one does not stop the others.',
      body: schema.BulkIn,
      response: { 200: schema.BulkOut, 409: ref(WholesaleErrorOut) },
    },
    handler: idempotentHandler(deps, ({ actor, body }, _reply, pendingAnswer) =>
      sendBulk(deps, actor, body, pendingAnswer),
    ),
  });

  app.delete(`${MESSAGES}/:messageId`, {
    onRequest: maySend,
    schema: {
      tags: ['Sending'],
      operationId: 'cancelMessage',
      summary: 'Cancel a waiting message',
      description:
        'By our id. The message ends DELETED and its credit is returned. 409 when it is on its way to the carrier or has ' +
        'a final status already.',
      params: Type.Object({ messageId: Type.String() }),
      response: { 204: Type.Null({ description: 'Cancelled' }), 409: ref(ErrorOut) },
    },
    handler: async ({ actor, params }, reply) => {
      const id = params.messageId.toLowerCase();
      const [record] = await findRecords(tenant(pool, actor), actor, { ids: [id], clientIds: [] });
      if (!record) throw new AppError('not_found');
      if (!(await cancelMessage(pool, actor, { id, now: clock.now() })))
        throw new AppError('conflict', {
          message: 'The message is on its way or has a final status and cannot be cancelled',
        });
      return reply.code(204).send(null);
    },
  });
}

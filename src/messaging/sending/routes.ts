import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { assertScope, requireAnyScope, requireScope } from '../../platform/http/auth.ts';
import type { App } from '../../platform/http/app.ts';
import type { Accept } from './accept.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { ErrorOut, ref, WholesaleErrorOut, withExamples } from '../../platform/http/schema.ts';
import { findRecords } from '../tracking/status.ts';
import { answerMessageServer, answerSend } from './answer.ts';
import type { Verdict } from './draft.ts';
import { idempotentSend } from './idempotent-send.ts';
import { sendBulk } from './bulk/send.ts';
import { cancelMessage } from '../cancellation/cancel.ts';
import { type PreviewRouteDeps, previewRoutes } from './preview/routes.ts';
import { readMessageServer, readSend } from './read-send.ts';
import * as schema from './schema.ts';
import type { Tracing } from '../../platform/tracing.ts';

const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';
const MESSAGES = '/api/partner-gateway/v1/messages';

const BULK_LIMIT_BYTES = 16 * 1024 * 1024;

const isSend = (body: schema.SendIn | schema.MessageServerIn): body is schema.SendIn => 'phoneNumber' in body;

export type SendRouteDeps = PreviewRouteDeps & {
  readonly accept: Accept;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

/** Registers the routes of single sends, bulk sends and cancellation. */
export function sendingRoutes(app: App, deps: SendRouteDeps): void {
  const { accept, clock, config, pool, tracing } = deps;
  previewRoutes(app, deps);
  const maySend = requireScope('SMS');

  app.post(SEND, {
    onRequest: maySend,
    schema: {
      tags: ['Sending'],
      operationId: 'sendSms',
      summary: 'Send one SMS',
      description:
        'Two bodies are accepted: the short one and that of the message server. The response has the form of the body.',
      body: withExamples(
        Type.Union([schema.SendIn, schema.MessageServerIn]),
        { phoneNumber: '+393331234567', message: 'Your parcel arrives today', customerMessageId: 'order-4711' },
        {
          destination: '+393331234567',
          sender: 'ACME',
          body: 'Hello {{name}}',
          placeholders: { name: 'Ada' },
          validityPeriod: 60,
        },
      ),
      response: { 200: Type.Union([schema.SendOut, schema.MessageServerOut]), 409: ref(ErrorOut) },
    },
    handler: idempotentHandler(deps, async ({ actor, body, headers }, _reply, pendingAnswer) => {
      const now = clock.now();
      const { maxScheduleDays } = config;
      const draft = isSend(body) ? readSend(body, now, maxScheduleDays) : readMessageServer(body, now, maxScheduleDays);
      const answer = (verdict: Verdict) =>
        isSend(body) ? answerSend(actor, body, verdict) : answerMessageServer(actor, body, verdict);
      const traced = tracing ? { ...draft, caller: tracing.callerOf(headers) } : draft;
      return answer(await accept.one(actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
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
        'Each destination has a separate result, in the order of the request: an invalid one does not stop the others.',
      body: withExamples(schema.BulkIn, schema.BULK_EXAMPLE),
      response: { 200: schema.BulkOut, 409: ref(WholesaleErrorOut) },
    },
    handler: idempotentHandler(deps, ({ actor, body }, _reply, pendingAnswer) =>
      sendBulk({ pool, accept, clock, maxScheduleDays: config.maxScheduleDays }, actor, body, pendingAnswer),
    ),
  });

  app.delete(`${MESSAGES}/:messageId`, {
    onRequest: requireAnyScope(CHANNELS, 'write'),
    schema: {
      tags: ['Sending'],
      operationId: 'cancelMessage',
      summary: 'Cancel a waiting message',
      description:
        'By our id. The message ends DELETED and its credit is returned. 409 when it is on its way to the carrier or has ' +
        'a final status already. Requires the scope of its channel.',
      params: Type.Object({ messageId: Type.String() }),
      response: { 204: Type.Null({ description: 'Cancelled' }), 409: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { actor, params } = request;
      const id = params.messageId.toLowerCase();
      const [record] = await findRecords(tenant(pool, actor), actor, { ids: [id], clientIds: [] });
      if (!record) throw new AppError('not_found');
      assertScope(request, record.channel);
      if (!(await cancelMessage(pool, actor, { id, now: clock.now() })))
        throw new AppError('conflict', {
          message: 'The message is on its way or has a final status and cannot be cancelled',
        });
      return reply.code(204).send(null);
    },
  });
}

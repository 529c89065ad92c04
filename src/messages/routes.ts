import { Type } from 'typebox';
import { AppError } from '../errors.ts';
import { requireScope } from '../http/auth.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { answerBulk, answerMessageServer, answerSend } from './answer.ts';
import { readBulk, readMessageServer, readSend } from './read-send.ts';
import * as schema from './schema.ts';

const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';

const BULK_LIMIT_BYTES = 16 * 1024 * 1024;
const MAX_DESTINATIONS = 10_000;

const isSend = (body: schema.SendIn | schema.MessageServerIn): body is schema.SendIn => 'phoneNumber' in body;

/** Contract 7: single and bulk sends. */
export function messageRoutes(app: App, { accept, clock }: ApiDeps): void {
  const maySend = requireScope('SMS');

  app.post(SEND, {
    onRequest: maySend,
    schema: {
      tags: ['Sending'],
      operationId: 'sendSms',
      summary: 'Send one SMS',
      description:
        'Two bodies are taken: the short one and that of the message server. The answer has the form of the body.',
      body: Type.Union([schema.SendIn, schema.MessageServerIn]),
      response: { 200: Type.Union([schema.SendOut, schema.MessageServerOut]) },
    },
    handler: async ({ actor, body }) => {
      if (isSend(body)) return answerSend(body, await accept.one(actor, readSend(body)));
      return answerMessageServer(body, await accept.one(actor, readMessageServer(body, clock.now())));
    },
  });

  app.post(BULK, {
    onRequest: maySend,
    bodyLimit: BULK_LIMIT_BYTES,
    schema: {
      tags: ['Sending'],
      operationId: 'sendBulkSms',
      summary: 'Send many SMS: up to 10,000 destinations a request',
      body: schema.BulkIn,
      response: { 200: schema.BulkOut },
    },
    handler: async ({ actor, body }) => {
      const count = body.messages.reduce((sum, message) => sum + message.destinations.length, 0);
      if (count > MAX_DESTINATIONS)
        throw new AppError('too_large', { message: `${count} destinations: at most ${MAX_DESTINATIONS} a request` });
      const drafts = readBulk(body, clock.now());
      return answerBulk(drafts, await accept.many(actor, drafts));
    },
  });
}

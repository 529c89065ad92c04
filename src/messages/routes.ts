import { Type } from 'typebox';
import { AppError, invalidFields } from '../errors.ts';
import { requireScope } from '../http/auth.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { answerBulk, answerMessageServer, answerSend } from './answer.ts';
import { readBulk, readMessageServer, readSend } from './read-send.ts';
import * as schema from './schema.ts';
import { findRecord, findRecords, toSimpleStatus, toStatusRecord } from './status.ts';

const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';
const STATUS = '/api/partner-gateway/v1/messages/status';
const SIMPLE = '/api/messages/status';

const BULK_LIMIT_BYTES = 16 * 1024 * 1024;
const MAX_DESTINATIONS = 10_000;
const MAX_IDS = 1000;

const isSend = (body: schema.SendIn | schema.MessageServerIn): body is schema.SendIn => 'phoneNumber' in body;

/** Contract 7 and 5: single and bulk sends, and what became of them. */
export function messageRoutes(app: App, { pool, accept, clock }: ApiDeps): void {
  const maySend = requireScope('SMS');
  const mayTrack = requireScope('tracking');

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

  app.get(`${STATUS}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findMessageStatus',
      summary: 'The status of one message, by your id or ours',
      params: schema.StatusParams,
      querystring: schema.StatusQuery,
      response: { 200: schema.StatusRecord },
    },
    handler: async ({ actor, params, query }) => {
      const record = await findRecord(pool, actor, params.customerMessageId);
      if (!record || (query.channel && record.channel !== query.channel)) throw new AppError('not_found');
      return toStatusRecord(record);
    },
  });

  app.get(STATUS, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageStatuses',
      summary: 'The statuses of up to 1,000 messages; unknown ids are left out',
      querystring: schema.StatusListQuery,
      response: { 200: Type.Array(schema.StatusRecord) },
    },
    handler: async ({ actor, query }) => {
      const wanted = { ids: idsOf('ids', query.ids), clientIds: idsOf('customerMessageIds', query.customerMessageIds) };
      if (wanted.ids.length + wanted.clientIds.length === 0)
        throw invalidFields([{ field: 'customerMessageIds', message: 'is required (or ids)' }]);
      return (await findRecords(pool, actor, wanted)).map(toStatusRecord);
    },
  });

  app.get(`${SIMPLE}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findSimpleMessageStatus',
      summary: 'The status of one message in short form',
      params: schema.StatusParams,
      response: { 200: schema.SimpleStatus },
    },
    handler: async ({ actor, params }) => {
      const record = await findRecord(pool, actor, params.customerMessageId);
      if (!record) throw new AppError('not_found');
      return toSimpleStatus(record);
    },
  });
}

function idsOf(field: string, list: string | undefined): string[] {
  const ids = (list ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
  if (ids.length > MAX_IDS) throw invalidFields([{ field, message: `must name at most ${MAX_IDS} ids` }]);
  return ids;
}

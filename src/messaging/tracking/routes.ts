import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import * as schema from './schema.ts';
import { findNetworkStatus, findRecord, findRecords, toSimpleStatus, toStatusRecord } from './status.ts';
import { findTimeline } from './timeline.ts';

const MESSAGES = '/api/partner-gateway/v1/messages';
const STATUS = `${MESSAGES}/status`;
const SIMPLE = '/api/messages/status';
const NETWORKS = [
  { channel: 'WHATSAPP', path: 'whatsapp', operationId: 'findWhatsappStatus', name: 'WhatsApp' },
  { channel: 'RCS', path: 'rcs', operationId: 'findRcsStatus', name: 'RCS' },
] as const;
const MAX_IDS = 1000;

/** Registers the routes of statuses and timelines. */
export function trackingRoutes(app: App, { pool }: PlatformDeps): void {
  const mayTrack = requireScope('tracking');

  app.get(`${STATUS}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findMessageStatus',
      summary: 'Get the status of one message by your id or ours',
      params: schema.StatusParams,
      querystring: schema.StatusQuery,
      response: { 200: schema.StatusRecord },
    },
    handler: async ({ actor, params, query }) => {
      const record = await findRecord(tenant(pool, actor), actor, params.customerMessageId);
      if (!record || (query.channel && record.channel !== query.channel)) throw new AppError('not_found');
      return toStatusRecord(record, actor);
    },
  });

  app.get(STATUS, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageStatuses',
      summary: 'Get the statuses of up to 1,000 messages',
      description: 'Unknown ids are omitted.',
      querystring: schema.StatusListQuery,
      response: { 200: Type.Array(schema.StatusRecord) },
    },
    handler: async ({ actor, query }) => {
      const wanted = { ids: idsOf('ids', query.ids), clientIds: idsOf('customerMessageIds', query.customerMessageIds) };
      if (wanted.ids.length + wanted.clientIds.length === 0)
        throw invalidFields([{ field: 'customerMessageIds', message: 'is required (or ids)' }]);
      const records = await findRecords(tenant(pool, actor), actor, wanted);
      return records.map((record) => toStatusRecord(record, actor));
    },
  });

  app.get(`${SIMPLE}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findSimpleMessageStatus',
      summary: 'Get the status of one message in short form',
      params: schema.StatusParams,
      response: { 200: schema.SimpleStatus },
    },
    handler: async ({ actor, params }) => {
      const record = await findRecord(tenant(pool, actor), actor, params.customerMessageId);
      if (!record) throw new AppError('not_found');
      return toSimpleStatus(record);
    },
  });

  for (const { channel, path, operationId, name } of NETWORKS)
    app.get(`/api/partner-gateway/v1/${path}/messages/:messageId`, {
      onRequest: mayTrack,
      schema: {
        tags: ['Tracking'],
        operationId,
        summary: `Get the status of one ${name} message by our id`,
        description: '404 for a message on another channel.',
        params: schema.NetworkParams,
        response: { 200: schema.NetworkStatus },
      },
      handler: async ({ actor, params }) => {
        const status = await findNetworkStatus(tenant(pool, actor), actor, { id: params.messageId, channel });
        if (!status) throw new AppError('not_found');
        return status;
      },
    });

  app.get(`${MESSAGES}/:messageId/timeline`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findMessageTimeline',
      summary: 'Get the timeline of one message',
      description:
        'Everything that happened to the message: its price, every attempt, every receipt in the words of the carrier, and ' +
        'its final state. Amounts are omitted without the scope `money`.',
      params: schema.TimelineParams,
      response: { 200: schema.Timeline },
    },
    handler: async ({ actor, params }) => {
      const timeline = await findTimeline(tenant(pool, actor), actor, params.messageId);
      if (!timeline) throw new AppError('not_found');
      return timeline;
    },
  });
}

/** Reads a list of ids. A client's id may itself contain commas, so every value is tried as one id too. */
function idsOf(field: string, lists: string | readonly string[] = []): string[] {
  const values = [lists].flat().map((list) => list.trim());
  const ids = values
    .flatMap((list) => list.split(','))
    .map((id) => id.trim())
    .filter((id) => id !== '');
  if (ids.length > MAX_IDS) throw invalidFields([{ field, message: `must name at most ${MAX_IDS} ids` }]);
  return ids.length === 0 ? [] : [...new Set([...ids, ...values])];
}

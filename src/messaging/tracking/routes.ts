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

/** Contract 5: what became of messages. */
export function trackingRoutes(app: App, { pool }: PlatformDeps): void {
  const mayTrack = requireScope('tracking');

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
      const record = await findRecord(tenant(pool, actor), actor, params.customerMessageId);
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
      return (await findRecords(tenant(pool, actor), actor, wanted)).map(toStatusRecord);
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
        summary: `The status of one ${name} message, by our id`,
        description: 'The id of a message on another channel is unknown here.',
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
      summary: 'Everything that happened to one message',
      description:
        'What it cost and why, every attempt and every receipt in the words of the carrier, and how it ended.',
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

function idsOf(field: string, list: string | undefined): string[] {
  const ids = (list ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
  if (ids.length > MAX_IDS) throw invalidFields([{ field, message: `must name at most ${MAX_IDS} ids` }]);
  return ids;
}

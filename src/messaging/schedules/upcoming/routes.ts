import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { assertScope, requireAnyScope } from '../../../platform/http/auth.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { ErrorOut, ref, withExamples } from '../../../platform/http/schema.ts';
import { amountFor, type AmountReader } from '../../../platform/lib/amounts.ts';
import { CHANNELS } from '../../../platform/lib/channel.ts';
import { isUuid, timeOfId } from '../../../platform/lib/ids.ts';
import { formatScheduledDate, parseScheduledDate, scheduleFault } from '../../../platform/lib/scheduled-date.ts';
import { type Access, mayAccess } from '../../../platform/lib/scope.ts';
import { cancelMessage } from '../../cancellation/cancel.ts';
import { reschedule } from './reschedule.ts';
import * as schema from './schema.ts';
import { countUpcoming, findUpcoming, listUpcoming, type UpcomingMessage } from './sql.ts';

const PATH = '/api/partner-gateway/v1/messages/scheduled';
const tags = ['Sending'];
const OF_CHANNEL = 'Requires the scope of its channel.';

/** Registers the routes of single and bulk messages that wait for the time which their client has chosen. */
export function scheduledMessageRoutes(app: App, { pool, clock, config }: PlatformDeps): void {
  /** Finds a waiting message that the caller may see. Errors: 403 without the scope of its channel, 404. */
  async function findOrThrow(request: FastifyRequest, id: string, access: Access): Promise<UpcomingMessage> {
    const { accountId } = request.actor;
    const found = isUuid(id) ? await findUpcoming(tenant(pool, request.actor), { accountId, id }) : undefined;
    if (!found) throw new AppError('not_found');
    assertScope(request, found.channel, access);
    return found;
  }

  app.get(PATH, {
    onRequest: requireAnyScope(CHANNELS, 'read'),
    schema: {
      tags,
      operationId: 'listScheduledMessages',
      summary: 'List scheduled messages',
      description: 'Messages waiting for their scheduledDate, soonest first, on the channels of your scopes.',
      querystring: Type.Object({ ...pageFields, ...schema.ScheduledFilter }),
      response: { 200: PageOf(schema.ScheduledMessage) },
    },
    handler: async ({ actor, query }) => {
      const { accountId } = actor;
      const channels = CHANNELS.filter(
        (channel) => mayAccess(actor, channel, 'read') && (query.channel ?? channel) === channel,
      );
      const db = tenant(pool, actor);
      const { limit } = query;
      const [rows, total] = await Promise.all([
        listUpcoming(db, { accountId, channels, limit, offset: offsetOf(query) }),
        countUpcoming(db, { accountId, channels }),
      ]);
      return pageOf(
        query,
        rows.map((row) => toOut(row, actor)),
        total,
      );
    },
  });

  app.get(`${PATH}/:id`, {
    onRequest: requireAnyScope(CHANNELS, 'read'),
    schema: {
      tags,
      operationId: 'getScheduledMessage',
      summary: 'Get a scheduled message',
      description: `404 when it is no longer waiting. ${OF_CHANNEL}`,
      params: schema.ScheduledParams,
      response: { 200: schema.ScheduledMessage },
    },
    handler: async (request) => toOut(await findOrThrow(request, request.params.id, 'read'), request.actor),
  });

  app.patch(`${PATH}/:id`, {
    onRequest: requireAnyScope(CHANNELS, 'write'),
    schema: {
      tags,
      operationId: 'changeScheduledMessage',
      summary: 'Change the send time of a message',
      description: `Its validity and its fallbacks move by the same time. ${OF_CHANNEL}`,
      params: schema.ScheduledParams,
      body: withExamples(schema.SchedulePatch, { scheduledDate: '2027-01-31 09:00:00.000+0100' }),
      response: { 200: schema.ScheduledMessage },
    },
    handler: async (request) => {
      const { actor, body, params } = request;
      const { id } = await findOrThrow(request, params.id, 'write');
      const fault = scheduleFault(body.scheduledDate, clock.now(), config.maxScheduleDays);
      const at = parseScheduledDate(body.scheduledDate);
      if (fault !== null || at === null)
        throw invalidFields([{ field: 'scheduledDate', message: fault ?? 'must be a date' }]);
      await reschedule(pool, actor, { id, at });
      return toOut(await findOrThrow(request, id, 'write'), actor);
    },
  });

  app.delete(`${PATH}/:id`, {
    onRequest: requireAnyScope(CHANNELS, 'write'),
    schema: {
      tags,
      operationId: 'cancelScheduledMessage',
      summary: 'Cancel a scheduled message',
      description: `The message ends DELETED and its credit is returned. 409 when its time has come. ${OF_CHANNEL}`,
      params: schema.ScheduledParams,
      response: { 204: Type.Null({ description: 'Cancelled' }), 409: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { id } = await findOrThrow(request, request.params.id, 'write');
      if (!(await cancelMessage(pool, request.actor, { id, now: clock.now() })))
        throw new AppError('conflict', { message: 'The message is on its way and cannot be cancelled' });
      return reply.code(204).send(null);
    },
  });
}

const toOut = (message: UpcomingMessage, reader: AmountReader): schema.ScheduledMessage => ({
  messageId: message.id,
  customerMessageId: message.clientId,
  channel: message.channel,
  destination: message.destination,
  sender: message.sender,
  text: message.body,
  scheduledDate: formatScheduledDate(message.scheduledAt),
  acceptedDate: timeOfId(message.id).toISOString(),
  parts: message.parts,
  price: amountFor(reader, message.priceMicros),
});

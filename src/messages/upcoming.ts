import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { type Access, mayAccess } from '../core/actor.ts';
import { CHANNELS, type Channel } from '../core/channels.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import {
  type App,
  ErrorOut,
  offsetOf,
  PageOf,
  type PlatformDeps,
  pageFields,
  pageOf,
  ref,
  withExamples,
} from '../core/http/app.ts';
import { assertScope, requireAnyScope } from '../core/http/auth.ts';
import { isUuid, timeOfId } from '../core/ids.ts';
import { type AmountReader, amountFor, shownAmount } from '../core/money.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { formatScheduledDate, parseScheduledDate, scheduleFault } from '../core/time.ts';
import { deleteEmptyChunks, moveToWithdrawn } from '../dispatch/commit.ts';
import { cancelMessage } from './cancellation.ts';
import { deadlinesOf, deleteDeadline, insertDeadlines } from './expiry.ts';
import { updateFallbackBy } from './fallback-store.ts';
import { notifyWake } from './schedules.ts';

const ScheduledMessage = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
  destination: Type.String(),
  sender: Type.String(),
  text: Type.String({ description: 'The text of the message, or its readable text.' }),
  scheduledDate: Type.String({ description: 'When it is sent: yyyy-MM-dd HH:mm:ss.SSSZ, in UTC.' }),
  acceptedDate: instant('UTC; when the request was accepted.'),
  parts: Type.Integer(),
  price: shownAmount('The price of the whole message, which is reserved.'),
});
type ScheduledMessage = Static<typeof ScheduledMessage>;

const ScheduledFilter = { channel: Type.Optional(channelName('Only messages on this channel.')) };
const ScheduledParams = Type.Object({ id: Type.String({ minLength: 1, description: 'Our messageId.' }) });

const SchedulePatch = Type.Object({
  scheduledDate: Type.String({
    description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with an offset.',
  }),
});

const PATH = '/api/partner-gateway/v1/messages/scheduled';
const tags = ['Sending'];
const OF_CHANNEL = 'Requires the scope of its channel.';

/** Registers the routes of single and bulk messages that wait for the time which their client has chosen. */
export function scheduledMessageRoutes(app: App, { pool, clock }: PlatformDeps): void {
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
      querystring: Type.Object({ ...pageFields, ...ScheduledFilter }),
      response: { 200: PageOf(ScheduledMessage) },
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
      params: ScheduledParams,
      response: { 200: ScheduledMessage },
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
      params: ScheduledParams,
      body: withExamples(SchedulePatch, { scheduledDate: '2027-01-31 09:00:00.000+0100' }),
      response: { 200: ScheduledMessage },
    },
    handler: async (request) => {
      const { actor, body, params } = request;
      const { id } = await findOrThrow(request, params.id, 'write');
      const fault = scheduleFault(body.scheduledDate, clock.now());
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
      params: ScheduledParams,
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

const toOut = (message: UpcomingMessage, reader: AmountReader): ScheduledMessage => ({
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

/**
 * Changes the send time of a waiting message of the author's account. Its validity, its deadline and its fallback move
 * by the same time. Errors: 404 when no message with this id waits for its time.
 */
function reschedule(pool: Pool, author: Author, { id, at }: { id: string; at: Date }): Promise<void> {
  const { accountId } = author;
  return tenantTransaction(pool, author, async (tx) => {
    const chunk = await claimScheduledChunk(tx, { accountId, id });
    const message = chunk && (await findUpcoming(tx, { accountId, id }));
    if (!chunk || !message) throw new AppError('not_found');
    const { scheduledAt, validUntil } = message;
    const byMs = at.getTime() - scheduledAt.getTime();
    const moved = { scheduledAt: at, validUntil: validUntil && new Date(validUntil.getTime() + byMs) };
    const chunkIds = [chunk.chunkId];
    await moveToWithdrawn(tx, { chunkIds, keys: [{ accountId, id }] });
    await insertRescheduledChunk(tx, { accountId, id, chunkId: chunk.chunkId, at });
    await deleteEmptyChunks(tx, { chunkIds });
    await updateSchedule(tx, { accountId, id, at, validUntil: moved.validUntil });
    for (const old of deadlinesOf([{ ...message, accountId, simulation: false }]))
      await deleteDeadline(tx, { accountId, id, dueAt: old.dueAt });
    await insertDeadlines(tx, deadlinesOf([{ accountId, id, simulation: false, ...moved }]));
    await updateFallbackBy(tx, { accountId, id, byMs });
    await notifyWake(tx, { connectionId: chunk.connectionId });
    const detail = { from: scheduledAt.toISOString(), to: at.toISOString() };
    await recordAudit(tx, author, { action: 'message.reschedule', subject: `message:${id}`, detail });
  });
}

const UPCOMING = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  sender: as<string>('m.sender'),
  body: as<string>('m.body'),
  parts: as<number>('m.parts'),
  priceMicros: as<number>('m.price_micros'),
  validUntil: as<Date | null>('m.valid_until'),
  scheduledAt: as<Date>('m.scheduled_at'),
});
/** A message that waits for the time which its client has chosen. */
type UpcomingMessage = RowOf<typeof UPCOMING>;

/**
 * The chunks of the account whose time is to come, each with its waiting messages. No worker claims a chunk before its
 * time.
 */
const upcoming = (accountId: number, which: Sql = sql`true`) => sql`
  FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS i (id)
  JOIN message m ON m.account_id = c.account_id AND m.id = i.id
  WHERE c.account_id = ${accountId} AND c.scheduled AND c.owner IS NULL AND c.available_at > now()
    AND (c.withdrawn IS NULL OR i.id <> ALL (c.withdrawn)) AND m.scheduled_at IS NOT NULL AND ${which}`;

type Filter = { readonly accountId: number; readonly channels: readonly Channel[] };

/** Lists the messages of one account that wait for their time on these channels, next first. */
const listUpcoming = (
  db: Db,
  { accountId, channels, limit, offset }: Filter & { limit: number; offset: number },
): Promise<UpcomingMessage[]> =>
  many(
    db,
    sql`SELECT ${UPCOMING} ${upcoming(accountId, sql`m.channel = ANY(${channels}::text[])`)}
        ORDER BY c.available_at, m.id LIMIT ${limit} OFFSET ${offset}`,
  );

async function countUpcoming(db: Db, { accountId, channels }: Filter): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total ${upcoming(accountId, sql`m.channel = ANY(${channels}::text[])`)}`,
  );
  return row.total;
}

type One = { readonly accountId: number; readonly id: string };

/** Finds a message of one account that waits for its time. */
const findUpcoming = (db: Db, { accountId, id }: One): Promise<UpcomingMessage | undefined> =>
  maybeOne(db, sql`SELECT ${UPCOMING} ${upcoming(accountId, sql`i.id = ${id}::uuid`)}`);

/**
 * Locks the chunk in which a message waits for its time, until the transaction ends: no worker can claim it meanwhile.
 * Undefined when the message does not wait for its time any more.
 */
const claimScheduledChunk = (
  db: Db,
  { accountId, id }: One,
): Promise<{ chunkId: number; connectionId: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT c.id AS "chunkId", c.connection_id AS "connectionId" FROM dispatch_chunk c
        WHERE c.account_id = ${accountId} AND c.scheduled AND c.owner IS NULL AND c.available_at > now()
          AND ${id}::uuid = ANY(c.ids) AND (c.withdrawn IS NULL OR ${id}::uuid <> ALL (c.withdrawn))
        FOR UPDATE`,
  );

/** Queues a message that was withdrawn from a chunk again, like that chunk but for another time. */
const insertRescheduledChunk = (
  db: Db,
  { accountId, id, chunkId, at }: One & { chunkId: number; at: Date },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, alternates, priority, round, available_at, attempt, tries,
                                    on_unknown, scheduled, size, ids)
        SELECT account_id, connection_id, alternates, priority, round, ${at}, attempt, tries, on_unknown, true, 1,
               ARRAY[${id}::uuid]
        FROM dispatch_chunk WHERE account_id = ${accountId} AND id = ${chunkId}`,
  );

/** Changes the send time of a message and the end of its validity. Only before any carrier has seen it. */
const updateSchedule = (
  db: Db,
  { accountId, id, at, validUntil }: One & { at: Date; validUntil: Date | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE message SET scheduled_at = ${at}, valid_until = ${validUntil}
        WHERE account_id = ${accountId} AND id = ${id}`,
  );

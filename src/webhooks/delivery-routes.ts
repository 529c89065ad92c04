import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { firstIdAt, isUuid, timeOfId } from '../core/ids.ts';
import type { PostRequest } from '../core/outbound-post.ts';
import { instant, orNull } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';
import { type Endpoint, findEndpoint, openSecrets } from './endpoints.ts';
import { bodyOf, WEBHOOK_EVENT_KINDS, withFacts } from './events.ts';
import {
  countDeliveries,
  DELIVERY_STATES,
  type Delivery,
  type DeliveryFilter,
  type DeliveryState,
  findDelivery,
  listDeliveries,
  moveToReplayed,
} from './log.ts';
import { signedHeaders, timestampOf } from './send.ts';

const DeliveryStatus = Type.Enum([...DELIVERY_STATES], {
  type: 'string',
  description: 'PENDING: another attempt follows. DELIVERED: acknowledged. DEAD: given up; it can be replayed.',
});

const EventType = Type.Enum([...WEBHOOK_EVENT_KINDS], { type: 'string' });

const DeliveryOut = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The `webhook-id` of the event, the same at every attempt.' }),
  eventType: EventType,
  messageId: Type.String({ format: 'uuid' }),
  statusCode: orNull(Type.Integer({ description: 'The status code of a DELIVERY event.' })),
  status: DeliveryStatus,
  attempts: Type.Integer({ description: 'Attempts since the event was created or last replayed.' }),
  responseCode: orNull(
    Type.Integer({ description: 'HTTP status of the last attempt; null when there was no response.' }),
  ),
  durationMs: orNull(Type.Integer({ description: 'Duration of the last attempt.' })),
  failure: orNull(Type.String({ description: 'Reason why the last attempt failed, or why there was none.' })),
  nextAttemptAt: orNull(instant('UTC; approximate while the webhook fails.')),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
});

const deliveryFields = {
  status: Type.Optional(DeliveryStatus),
  eventType: Type.Optional(EventType),
  messageId: Type.Optional(Type.String({ format: 'uuid' })),
  since: Type.Optional(instant('ISO 8601 with offset: events from then on.')),
  until: Type.Optional(instant('ISO 8601 with offset: events before then.')),
};
const DeliveryFields = Type.Object(deliveryFields);

const AttemptOut = Type.Object({
  at: instant('UTC; when it began.'),
  responseCode: orNull(Type.Integer({ description: 'Null when there was no response.' })),
  durationMs: orNull(Type.Integer()),
  failure: orNull(Type.String({ description: 'Null when it was acknowledged.' })),
  answer: orNull(Type.String({ description: 'The first 1,024 bytes of the response body.' })),
});
const DeliveryDetailOut = Type.Object({
  ...DeliveryOut.properties,
  request: orNull(
    Type.Object(
      {
        method: Type.Literal('POST'),
        url: Type.String(),
        headers: Type.Record(Type.String(), Type.String()),
        body: Type.String(),
      },
      {
        description:
          'The request, in the current form and to the current URL of the webhook. The body is the same at every attempt; ' +
          '`webhook-timestamp` is that of the last one, signed by the secrets that are valid now. Null without a webhook, ' +
          'before the first attempt, and when the message was deleted.',
      },
    ),
  ),
  log: Type.Array(AttemptOut, { description: 'All attempts, oldest first, including those before a replay.' }),
});

const DeliveryId = Type.Object({ id: Type.String({ description: 'The id of the event.' }) });

const ReplayIn = Type.Object({
  since: instant('ISO 8601 with offset: events from then on.'),
  until: Type.Optional(instant('ISO 8601 with offset: events before then. Default: now.')),
  status: Type.Optional(Type.Enum([...DELIVERY_STATES], { type: 'string', description: 'Default: DEAD.' })),
});

const ReplayOut = Type.Object({ replayed: Type.Integer({ description: 'Number of events to be sent again.' }) });

/** Returns an entry of the log in the form of the API. */
const toDeliveryOut = (delivery: Delivery): Static<typeof DeliveryOut> => ({
  id: delivery.id,
  eventType: delivery.kind,
  messageId: delivery.messageId,
  statusCode: delivery.status,
  status: delivery.state,
  attempts: delivery.attempts,
  responseCode: delivery.responseCode,
  durationMs: delivery.durationMs,
  failure: delivery.failure,
  nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
  createdAt: timeOfId(delivery.id).toISOString(),
  updatedAt: delivery.updatedAt.toISOString(),
});

type Attempt = Static<typeof AttemptOut>;

/** Lists the attempts. Failed ones are stored one by one; the acknowledged one is the last of an event. */
function attemptsOf({ state, failures, triedAt, responseCode, durationMs, answer }: Delivery): Attempt[] {
  const failed = failures.map(({ at, code, reason, ms, answer: said = null }) => ({
    at,
    responseCode: code,
    durationMs: ms,
    failure: reason ?? `answered ${code}`,
    answer: said,
  }));
  if (state !== 'DELIVERED' || triedAt === null) return failed;
  return [...failed, { at: triedAt.toISOString(), responseCode, durationMs, failure: null, answer }];
}

const toDeliveryDetailOut = (delivery: Delivery, request: PostRequest | null): Static<typeof DeliveryDetailOut> => ({
  ...toDeliveryOut(delivery),
  request: request && { method: 'POST', url: request.url, headers: { ...request.headers }, body: request.body },
  log: attemptsOf(delivery),
});

/** Makes the filter of a query. The ids of events contain the time of their creation. */
const filterOf = (accountId: number, query: Static<typeof DeliveryFields>): DeliveryFilter => ({
  accountId,
  state: query.status ?? null,
  kind: query.eventType ?? null,
  messageId: query.messageId ?? null,
  firstId: query.since === undefined ? null : firstIdAt(new Date(query.since)),
  beforeId: query.until === undefined ? null : firstIdAt(new Date(query.until)),
});

const DELIVERY_STATUS = '/api/partner-gateway/v1/webhooks/delivery-status';
const DELIVERIES = `${DELIVERY_STATUS}/deliveries`;
const tags = ['Webhooks'];

/** Registers the routes of the log of webhook events, and of replays. All need the scope `webhooks`. */
export function deliveryRoutes(app: App, { pool, answers, clock, secretKey }: PlatformDeps): void {
  const onRequest = requireScope('webhooks');

  app.get(DELIVERIES, {
    onRequest,
    schema: {
      tags,
      operationId: 'listWebhookDeliveries',
      summary: 'List webhook events and their delivery, newest first',
      description:
        'A failed event is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, 12 h and 24 h, each ±20 %, and not ' +
        'before the time in a Retry-After header (up to 24 h); after that it is DEAD. Later events of the same message ' +
        'wait for it; other messages do not. A webhook that keeps failing is tried at most once a minute, and events that ' +
        'have not been tried are not listed. A webhook that returns 410, or that has failed for five days without a ' +
        'single success, is disabled: waiting events become DEAD when they are due. After another registration waiting ' +
        'events go to the new webhook, in its form; after a deletion they are dropped.',
      querystring: Type.Object({ ...pageFields, ...deliveryFields }),
      response: { 200: PageOf(DeliveryOut) },
    },
    handler: async ({ actor, query }) => {
      const filter = filterOf(actor.accountId, query);
      const db = tenant(pool, actor);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([
        listDeliveries(db, { ...filter, ...page }),
        countDeliveries(db, filter),
      ]);
      return pageOf(query, rows.map(toDeliveryOut), total);
    },
  });

  app.get(`${DELIVERIES}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findWebhookDelivery',
      summary: 'Get one event with its request and the response to each attempt',
      params: DeliveryId,
      response: { 200: DeliveryDetailOut },
    },
    handler: async ({ actor, params }) => {
      const db = tenant(pool, actor);
      const delivery = isUuid(params.id) ? await findDelivery(db, { ...actor, id: params.id }) : undefined;
      if (!delivery) throw new AppError('not_found');
      const request = await requestOf(db, actor, delivery, { secretKey, now: clock.now() });
      return toDeliveryDetailOut(delivery, request);
    },
  });

  app.post(`${DELIVERIES}/:id/replay`, {
    onRequest,
    config: { stepUp: { exempt: 'sends to where events go already' } },
    schema: {
      tags,
      operationId: 'replayWebhookDelivery',
      summary: 'Send one event again',
      description: 'With the same `webhook-id` and content. 409 while it waits for an earlier event of its message.',
      params: DeliveryId,
      response: { 202: DeliveryOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      toDeliveryOut(await replayEvent(tx, actor, params.id)),
    ),
  });

  app.post(`${DELIVERY_STATUS}/replay`, {
    onRequest,
    config: { stepUp: { exempt: 'sends to where events go already' } },
    schema: {
      tags,
      operationId: 'replayWebhookDeliveries',
      summary: 'Send the events of a time range again',
      description: 'Oldest first, at most 100,000 per call: use narrower ranges for more.',
      body: withExamples(ReplayIn, { since: '2026-11-01T00:00:00Z', status: 'DEAD' }),
      response: { 202: ReplayOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body }, tx) => {
      const until = body.until === undefined ? clock.now() : new Date(body.until);
      const range = { since: new Date(body.since), until, state: body.status ?? 'DEAD' };
      return { replayed: await replayRange(tx, actor, range) };
    }),
  });
}

/**
 * Sends one event of the account again, whatever its state: with its id and body, as if it had never been tried.
 * Errors: 404 when the log has no such event, 409 when it waits behind an earlier event of its message.
 */
async function replayEvent(tx: Db, actor: Actor, anyId: string): Promise<Delivery> {
  const id = anyId.toLowerCase();
  const { accountId } = actor;
  if (!isUuid(id) || !(await findDelivery(tx, { accountId, id }))) throw new AppError('not_found');
  const replayed = await moveToReplayed(tx, { accountId, firstId: id, lastId: id, state: null });
  const delivery = await findDelivery(tx, { accountId, id });
  if (replayed === 0 || !delivery)
    throw new AppError('conflict', { message: 'The event waits for an earlier event of its message' });
  await recordAudit(tx, actor, { action: 'webhook.replay', subject: `webhook-event:${id}` });
  return delivery;
}

type ReplayRange = { readonly since: Date; readonly until: Date; readonly state: DeliveryState };

/**
 * Sends the events of a time range with this state again, oldest first, up to 100,000. Returns how many. Errors: 400
 * when the range ends before it begins.
 */
async function replayRange(tx: Db, actor: Actor, { since, until, state }: ReplayRange): Promise<number> {
  if (until < since) throw invalidFields([{ field: 'until', message: 'must not be before since' }]);
  const range = { firstId: firstIdAt(since), lastId: firstIdAt(until), state };
  const replayed = await moveToReplayed(tx, { accountId: actor.accountId, ...range });
  const detail = { since: since.toISOString(), until: until.toISOString(), status: state, replayed };
  await recordAudit(tx, actor, { action: 'webhook.replay', subject: 'webhook-events', detail });
  return replayed;
}

/**
 * Rebuilds the request of the last attempt to deliver this event, for the webhook that is registered now: its form, its
 * URL, and the secrets that are valid at `now`. Null without a webhook, before the first attempt, when the message was
 * deleted, when the form has no such event, or when the secrets were sealed with another SECRET_KEY.
 */
async function requestOf(
  db: Db,
  { accountId }: { readonly accountId: number },
  delivery: Delivery,
  { secretKey, now }: { readonly secretKey: SecretKey; readonly now: Date },
): Promise<PostRequest | null> {
  const { id, triedAt } = delivery;
  const [endpoint, [event]] = await Promise.all([
    findEndpoint(db, { accountId }),
    withFacts(db, [{ accountId, ...delivery }]),
  ]);
  const body = endpoint && event?.facts ? bodyOf(endpoint.form, event, event.facts) : null;
  if (!endpoint || triedAt === null || body === null) return null;
  const secrets = opened(secretKey, endpoint, now);
  if (secrets.length === 0) return null;
  return { url: endpoint.url, headers: signedHeaders({ id, timestamp: timestampOf(triedAt), body, secrets }), body };
}

function opened(key: SecretKey, endpoint: Endpoint, now: Date): string[] {
  try {
    return openSecrets(key, endpoint, now);
  } catch {
    return [];
  }
}

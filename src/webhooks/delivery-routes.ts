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
import { instant, isRecord, orNull } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';
import {
  countDeliveries,
  type Delivery,
  type DeliveryFilter,
  findDelivery,
  listDeliveries,
  moveToReplayed,
} from './delivery-log.ts';
import { EndpointId, refOf } from './endpoint-routes.ts';
import { type Endpoint, findEndpoint, noWebhook, openSecrets } from './endpoints.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, type Links, typeOf } from './event-types.ts';
import { WEBHOOK_EVENT_KINDS } from './events.ts';
import { withFacts } from './facts.ts';
import { DELIVERY_STATES, type DeliveryState } from './log.ts';
import { callbackOf, payloadOf, signedHeaders, timestampOf } from './send.ts';
import { urlFor } from './urls.ts';

const DeliveryStatus = Type.Enum([...DELIVERY_STATES], {
  type: 'string',
  description: 'PENDING: another attempt follows. DELIVERED: acknowledged. DEAD: given up; it can be replayed.',
});

/** The kinds of events of format v1 or the types of v2. */
const EventKind = Type.Enum([...WEBHOOK_EVENT_KINDS], { type: 'string' });
const EventType = Type.Enum([...EVENT_TYPE_NAMES], { type: 'string' });

const deliveryOut = {
  id: Type.String({ format: 'uuid', description: 'The `webhook-id` of the event, the same at every attempt.' }),
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
};
const MessageId = Type.String({ format: 'uuid' });
const DeliveryOut = Type.Object({ eventType: EventKind, messageId: MessageId, ...deliveryOut });
const EndpointDeliveryOut = Type.Object({
  eventType: EventType,
  messageId: orNull({ ...MessageId, description: 'Null if the event is not about a message.' }),
  ...deliveryOut,
});

const deliveryFields = {
  status: Type.Optional(DeliveryStatus),
  messageId: Type.Optional(Type.String({ format: 'uuid' })),
  since: Type.Optional(instant('ISO 8601 with offset: events from then on.')),
  until: Type.Optional(instant('ISO 8601 with offset: events before then.')),
};
const DeliveryFields = Type.Object(deliveryFields);
type DeliveryFields = Static<typeof DeliveryFields> & { readonly eventType?: string };

const AttemptOut = Type.Object({
  at: instant('UTC; when it began.'),
  responseCode: orNull(Type.Integer({ description: 'Null when there was no response.' })),
  durationMs: orNull(Type.Integer()),
  failure: orNull(Type.String({ description: 'Null when it was acknowledged.' })),
  answer: orNull(Type.String({ description: 'The first 1,024 bytes of the response body.' })),
});
const detail = {
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
};
const DeliveryDetailOut = Type.Object({ ...DeliveryOut.properties, ...detail });
const EndpointDeliveryDetailOut = Type.Object({ ...EndpointDeliveryOut.properties, ...detail });

const DeliveryId = Type.Object({ id: Type.String({ description: 'The id of the event.' }) });
const EndpointParam = Type.Object({ endpoint: EndpointId });
const EndpointDeliveryId = Type.Object({ ...EndpointParam.properties, ...DeliveryId.properties });

const ReplayIn = Type.Object({
  since: instant('ISO 8601 with offset: events from then on.'),
  until: Type.Optional(instant('ISO 8601 with offset: events before then. Default: now.')),
  status: Type.Optional(Type.Enum([...DELIVERY_STATES], { type: 'string', description: 'Default: DEAD.' })),
});

const ReplayOut = Type.Object({ replayed: Type.Integer({ description: 'Number of events to be sent again.' }) });

/** Returns an entry of the log in the form of the API. */
const toDeliveryOut = (delivery: Delivery) => ({
  id: delivery.id,
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
const toKindOut = (delivery: Delivery) =>
  ({ ...toDeliveryOut(delivery), eventType: delivery.kind, messageId: delivery.messageId }) as Static<
    typeof DeliveryOut
  >;
const toTypeOut = (delivery: Delivery) =>
  ({
    ...toDeliveryOut(delivery),
    eventType: typeOf(delivery) ?? delivery.kind,
    messageId: delivery.data === null ? delivery.messageId : null,
  }) as Static<typeof EndpointDeliveryOut>;

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

const toDetail = (delivery: Delivery, request: PostRequest | null) => ({
  request: request && {
    method: 'POST' as const,
    url: request.url,
    headers: { ...request.headers },
    body: request.body,
  },
  log: attemptsOf(delivery),
});

/** Makes the filter of a query. The ids of events contain the time of their creation. */
function filterOf(place: Place, query: DeliveryFields): DeliveryFilter {
  const type = EVENT_TYPES[query.eventType ?? ''];
  return {
    ...place,
    state: query.status ?? null,
    kind: type?.kind ?? query.eventType ?? null,
    statuses: type?.statuses ?? null,
    messageId: query.messageId ?? null,
    firstId: query.since === undefined ? null : firstIdAt(new Date(query.since)),
    beforeId: query.until === undefined ? null : firstIdAt(new Date(query.until)),
  };
}

const DELIVERY_STATUS = '/api/partner-gateway/v1/webhooks/delivery-status';
const DELIVERIES = `${DELIVERY_STATUS}/deliveries`;
const ENDPOINT = '/api/partner-gateway/v1/webhooks/endpoints/:endpoint';
const tags = ['Webhooks'];

export type DeliveryRouteDeps = PlatformDeps & { readonly fileUrl: Links['fileUrl'] };
type Place = { readonly accountId: number; readonly endpoint: number };
type Page = Static<typeof PageQuery>;
const PageQuery = Type.Object(pageFields);

/** Registers the routes of the logs of webhook events, and of replays. All need the scope `webhooks`. */
export function deliveryRoutes(app: App, deps: DeliveryRouteDeps): void {
  const { pool, answers, clock } = deps;
  const onRequest = requireScope('webhooks');
  const exempt = { stepUp: { exempt: 'sends to where events go already' } };

  const list = async (place: Place, query: DeliveryFields & Page) => {
    const filter = filterOf(place, query);
    const db = tenant(pool, place);
    const page = { limit: query.limit, offset: offsetOf(query) };
    return Promise.all([listDeliveries(db, { ...filter, ...page }), countDeliveries(db, filter)]);
  };
  const find = async (place: Place, id: string) => {
    const db = tenant(pool, place);
    const delivery = isUuid(id) ? await findDelivery(db, { ...place, id }) : undefined;
    if (!delivery) throw new AppError('not_found');
    return { delivery, ...toDetail(delivery, await requestOf(db, place, delivery, deps)) };
  };
  const rangeOf = (body: Static<typeof ReplayIn>): ReplayRange => {
    const until = body.until === undefined ? clock.now() : new Date(body.until);
    return { since: new Date(body.since), until, state: body.status ?? 'DEAD' };
  };

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
      querystring: Type.Object({ ...pageFields, ...deliveryFields, eventType: Type.Optional(EventKind) }),
      response: { 200: PageOf(DeliveryOut) },
    },
    handler: async ({ actor: { accountId }, query }) => {
      const [rows, total] = await list({ accountId, endpoint: 0 }, query);
      return pageOf(query, rows.map(toKindOut), total);
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
    handler: async ({ actor: { accountId }, params }) => {
      const { delivery, ...more } = await find({ accountId, endpoint: 0 }, params.id);
      return { ...toKindOut(delivery), ...more };
    },
  });

  app.post(`${DELIVERIES}/:id/replay`, {
    onRequest,
    config: exempt,
    schema: {
      tags,
      operationId: 'replayWebhookDelivery',
      summary: 'Send one event again',
      description: 'With the same `webhook-id` and content. 409 while it waits for an earlier event of its message.',
      params: DeliveryId,
      response: { 202: DeliveryOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      toKindOut(await replayEvent(tx, actor, { endpoint: 0, anyId: params.id })),
    ),
  });

  app.post(`${DELIVERY_STATUS}/replay`, {
    onRequest,
    config: exempt,
    schema: {
      tags,
      operationId: 'replayWebhookDeliveries',
      summary: 'Send the events of a time range again',
      description: 'Oldest first, at most 100,000 per call: use narrower ranges for more.',
      body: withExamples(ReplayIn, { since: '2026-11-01T00:00:00Z', status: 'DEAD' }),
      response: { 202: ReplayOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body }, tx) => ({
      replayed: await replayRange(tx, actor, { endpoint: 0, ...rangeOf(body) }),
    })),
  });

  app.get(`${ENDPOINT}/deliveries`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listEndpointDeliveries',
      summary: 'List the events of an endpoint and their delivery, newest first',
      description: 'As for the webhook of the account. `default` is that webhook.',
      params: EndpointParam,
      querystring: Type.Object({ ...pageFields, ...deliveryFields, eventType: Type.Optional(EventType) }),
      response: { 200: PageOf(EndpointDeliveryOut) },
    },
    handler: async ({ actor, params, query }) => {
      const [rows, total] = await list(await placeOf(tenant(pool, actor), actor, params), query);
      return pageOf(query, rows.map(toTypeOut), total);
    },
  });

  app.get(`${ENDPOINT}/deliveries/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findEndpointDelivery',
      summary: 'Get one event of an endpoint with its request and the response to each attempt',
      params: EndpointDeliveryId,
      response: { 200: EndpointDeliveryDetailOut },
    },
    handler: async ({ actor, params }) => {
      const { delivery, ...more } = await find(await placeOf(tenant(pool, actor), actor, params), params.id);
      return { ...toTypeOut(delivery), ...more };
    },
  });

  app.post(`${ENDPOINT}/deliveries/:id/replay`, {
    onRequest,
    config: exempt,
    schema: {
      tags,
      operationId: 'replayEndpointDelivery',
      summary: 'Send one event to an endpoint again',
      description: 'With the same `webhook-id` and content. 409 while it waits for an earlier event of its message.',
      params: EndpointDeliveryId,
      response: { 202: EndpointDeliveryOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      toTypeOut(await replayEvent(tx, actor, { ...(await placeOf(tx, actor, params)), anyId: params.id })),
    ),
  });

  app.post(`${ENDPOINT}/replay`, {
    onRequest,
    config: exempt,
    schema: {
      tags,
      operationId: 'replayEndpointDeliveries',
      summary: 'Send the events of a time range to an endpoint again',
      description: 'Oldest first, at most 100,000 per call: use narrower ranges for more.',
      params: EndpointParam,
      body: withExamples(ReplayIn, { since: '2026-11-01T00:00:00Z', status: 'DEAD' }),
      response: { 202: ReplayOut },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params, body }, tx) => ({
      replayed: await replayRange(tx, actor, { ...(await placeOf(tx, actor, params)), ...rangeOf(body) }),
    })),
  });

  /** Errors: 404 when the account has no such endpoint. */
  async function placeOf(db: Db, actor: Actor, { endpoint }: { readonly endpoint: string }): Promise<Place> {
    const { accountId } = actor;
    const known = await findEndpoint(db, { accountId, ref: refOf(endpoint) });
    if (!known) throw noWebhook();
    return { accountId, endpoint: known.ref };
  }
}

type Replayed = { readonly endpoint: number; readonly anyId: string };

/**
 * Sends one event of the account again, whatever its state: with its id and body, as if it had never been tried.
 * Errors: 404 when the log has no such event, 409 when it waits behind an earlier event of its message.
 */
async function replayEvent(tx: Db, actor: Actor, { endpoint, anyId }: Replayed): Promise<Delivery> {
  const id = anyId.toLowerCase();
  const place = { accountId: actor.accountId, endpoint };
  if (!isUuid(id) || !(await findDelivery(tx, { ...place, id }))) throw new AppError('not_found');
  const replayed = await moveToReplayed(tx, { ...place, firstId: id, lastId: id, state: null });
  const delivery = await findDelivery(tx, { ...place, id });
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
async function replayRange(
  tx: Db,
  actor: Actor,
  { endpoint, since, until, state }: ReplayRange & { readonly endpoint: number },
): Promise<number> {
  if (until < since) throw invalidFields([{ field: 'until', message: 'must not be before since' }]);
  const range = { firstId: firstIdAt(since), lastId: firstIdAt(until), state };
  const replayed = await moveToReplayed(tx, { accountId: actor.accountId, endpoint, ...range });
  const detail = { since: since.toISOString(), until: until.toISOString(), status: state, replayed };
  await recordAudit(tx, actor, { action: 'webhook.replay', subject: 'webhook-events', detail });
  return replayed;
}

/**
 * Rebuilds the request of the last attempt to deliver this event, for the endpoint as it is now: its form, its URL, and the
 * secrets that are valid now. Null without a webhook, before the first attempt, when the message was deleted, when the form
 * has no such event, or when the secrets were sealed with another SECRET_KEY.
 */
async function requestOf(
  db: Db,
  { accountId, endpoint: ref }: Place,
  delivery: Delivery,
  { secretKey, clock, fileUrl }: DeliveryRouteDeps,
): Promise<PostRequest | null> {
  const { id, triedAt } = delivery;
  const [endpoint, [event]] = await Promise.all([
    findEndpoint(db, { accountId, ref }),
    withFacts(db, [{ ...delivery, accountId }]),
  ]);
  const body = endpoint && isRecord(event?.facts) ? payloadOf(event, event.facts, { ...endpoint, fileUrl }) : null;
  if (!endpoint || triedAt === null || body === null) return null;
  const secrets = opened(secretKey, endpoint, clock.now());
  if (secrets.length === 0) return null;
  const url = urlFor(endpoint, callbackOf(event?.facts ?? null));
  return { url, headers: signedHeaders({ id, timestamp: timestampOf(triedAt), body, secrets }), body };
}

function opened(key: SecretKey, endpoint: Endpoint, now: Date): string[] {
  try {
    return openSecrets(key, endpoint, now);
  } catch {
    return [];
  }
}

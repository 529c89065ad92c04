import { type Static, Type } from 'typebox';
import { firstIdAt, timeOfId } from '../../../platform/lib/ids.ts';
import type { PostRequest } from '../../../platform/outbound/post.ts';
import { WEBHOOK_EVENT_KINDS } from '../outbox/sql.ts';
import { type Delivery, type DeliveryFilter, DELIVERY_STATES } from '../delivery-log/sql.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';

const DeliveryStatus = Type.Enum([...DELIVERY_STATES], {
  type: 'string',
  description: 'PENDING: another attempt follows. DELIVERED: acknowledged. DEAD: given up; it can be replayed.',
});

const EventType = Type.Enum([...WEBHOOK_EVENT_KINDS], { type: 'string' });

export const DeliveryOut = Type.Object({
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

export const deliveryFields = {
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
export const DeliveryDetailOut = Type.Object({
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

export const DeliveryId = Type.Object({ id: Type.String({ description: 'The id of the event.' }) });

export const ReplayIn = Type.Object({
  since: instant('ISO 8601 with offset: events from then on.'),
  until: Type.Optional(instant('ISO 8601 with offset: events before then. Default: now.')),
  status: Type.Optional(Type.Enum([...DELIVERY_STATES], { type: 'string', description: 'Default: DEAD.' })),
});

export const ReplayOut = Type.Object({ replayed: Type.Integer({ description: 'Number of events to be sent again.' }) });

/** Returns an entry of the log in the form of the API. */
export const toDeliveryOut = (delivery: Delivery): Static<typeof DeliveryOut> => ({
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

export const toDeliveryDetailOut = (
  delivery: Delivery,
  request: PostRequest | null,
): Static<typeof DeliveryDetailOut> => ({
  ...toDeliveryOut(delivery),
  request: request && { method: 'POST', url: request.url, headers: { ...request.headers }, body: request.body },
  log: attemptsOf(delivery),
});

/** Makes the filter of a query. The ids of events contain the time of their creation. */
export const filterOf = (accountId: number, query: Static<typeof DeliveryFields>): DeliveryFilter => ({
  accountId,
  state: query.status ?? null,
  kind: query.eventType ?? null,
  messageId: query.messageId ?? null,
  firstId: query.since === undefined ? null : firstIdAt(new Date(query.since)),
  beforeId: query.until === undefined ? null : firstIdAt(new Date(query.until)),
});

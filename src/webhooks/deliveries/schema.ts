import { type Static, Type } from 'typebox';
import { timeOfId } from '../../lib/ids.ts';
import { WEBHOOK_EVENT_KINDS } from '../outbox/sql.ts';
import { type Delivery, DELIVERY_STATES } from './sql.ts';

const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const instant = (description: string) => Type.String({ format: 'date-time', description });

export const DeliveryStatus = Type.Enum([...DELIVERY_STATES], {
  type: 'string',
  description: 'PENDING: another attempt follows. DELIVERED: acknowledged. DEAD: given up, and can be replayed.',
});

export const DeliveryOut = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The `webhook-id` of the event, the same at every attempt.' }),
  eventType: Type.Enum([...WEBHOOK_EVENT_KINDS], { type: 'string' }),
  messageId: Type.String({ format: 'uuid' }),
  statusCode: orNull(Type.Integer({ description: 'Of a DELIVERY.' })),
  status: DeliveryStatus,
  attempts: Type.Integer({ description: 'Since the event was new or was last replayed.' }),
  responseCode: orNull(Type.Integer({ description: 'Of the last attempt; null when no answer came.' })),
  durationMs: orNull(Type.Integer({ description: 'Of the last attempt.' })),
  failure: orNull(Type.String({ description: 'Why the last attempt failed, or why there was none.' })),
  nextAttemptAt: orNull(instant('UTC; about, while the webhook fails.')),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
});

export const DeliveryId = Type.Object({ id: Type.String({ description: 'Of the event.' }) });

export const ReplayIn = Type.Object({
  since: instant('ISO 8601 with offset: events from then on.'),
  until: Type.Optional(instant('ISO 8601 with offset: events before then. Default: now.')),
  status: Type.Optional(Type.Enum([...DELIVERY_STATES], { type: 'string', description: 'Default: DEAD.' })),
});

export const ReplayOut = Type.Object({ replayed: Type.Integer({ description: 'Events that are sent again.' }) });

/** An entry of the log as the interface writes it. */
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

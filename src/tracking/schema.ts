import { type Static, Type } from 'typebox';
import { CHANNELS } from '../lib/channel.ts';
import { STATUS_NAMES } from '../messages/states.ts';

const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const instant = (description: string) => Type.String({ format: 'date-time', description });

const Status = Type.Enum([...STATUS_NAMES], { type: 'string' });

export const StatusRecord = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: Type.Enum([...CHANNELS], { type: 'string' }),
  destination: Type.String(),
  sender: Type.String(),
  deliveryStatus: Status,
  deliveryStatusCode: Type.Integer(),
  deliveryStatusDescription: Type.String(),
  sendDate: instant('UTC'),
  deliveryDate: orNull(instant('UTC; set once a final receipt has come.')),
  parts: Type.Integer(),
  price: Type.Number({ description: 'Of the whole message, when it was accepted; 0 in simulation.' }),
  campaignId: orNull(Type.Integer({ description: 'Null when the message belongs to no campaign.' })),
  errorCode: orNull(Type.String({ description: "The carrier's own." })),
  errorMessage: orNull(Type.String({ description: "The carrier's own words." })),
});

export const StatusParams = Type.Object({
  customerMessageId: Type.String({ minLength: 1, description: 'Your reference, or our messageId.' }),
});
export const StatusQuery = Type.Object({
  channel: Type.Optional(
    Type.Enum([...CHANNELS], { type: 'string', description: 'Another one than the message has: 404.' }),
  ),
});
const IdList = (description: string) =>
  Type.Optional(Type.String({ description: `${description}, with commas between them; at most 1,000.` }));
export const StatusListQuery = Type.Object({
  customerMessageIds: IdList('Your references'),
  ids: IdList('Our message ids'),
});

export const SimpleStatus = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  status: Type.Enum(['SENT', 'DELIVERED', 'ERROR', 'EXPIRED', 'UNKNOWN'], { type: 'string' }),
  channel: Type.Enum([...CHANNELS], { type: 'string' }),
  timestamp: instant('UTC; when the status was reached.'),
});

export type StatusRecord = Static<typeof StatusRecord>;
export type SimpleStatus = Static<typeof SimpleStatus>;

import { type Static, Type } from 'typebox';
import { STATUS_NAMES } from '../states.ts';
import { channelName, instant, orNull } from '../../platform/lib/schema.ts';

const Status = Type.Enum([...STATUS_NAMES], { type: 'string' });

export const StatusRecord = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
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
  possibleDuplicate: Type.Boolean({
    description: 'It was sent again because the first submit was never answered: the person may have it twice.',
  }),
  errorCode: orNull(Type.String({ description: "The carrier's own." })),
  errorMessage: orNull(Type.String({ description: "The carrier's own words." })),
});

export const StatusParams = Type.Object({
  customerMessageId: Type.String({ minLength: 1, description: 'Your reference, or our messageId.' }),
});
export const StatusQuery = Type.Object({
  channel: Type.Optional(channelName('Another one than the message has: 404.')),
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
  channel: channelName(),
  timestamp: instant('UTC; when the status was reached.'),
});

export const NetworkStatus = Type.Object({
  messageId: Type.String(),
  status: Type.Enum(['SENT', 'DELIVERED', 'READ', 'RECEIVED', 'ERROR', 'EXPIRED', 'UNKNOWN'], {
    type: 'string',
    description:
      'SENT from the moment that it is accepted; READ where the person lets it be told; RECEIVED while the network has it ' +
      'and holds it back, as WhatsApp does with messages of a new template until it has judged that.',
  }),
  timestamp: instant('UTC; when the status was reached.'),
  error: orNull(Type.String({ description: "The network's own words; null while nothing went wrong." })),
});
export const NetworkParams = Type.Object({ messageId: Type.String({ minLength: 1, description: 'Ours.' }) });

const EVENT_KINDS = [
  'ACCEPTED',
  'PRICED',
  'SCHEDULED',
  'QUEUED',
  'ATTEMPT',
  'HELD',
  'RECEIPT',
  'CANCELLED',
  'SETTLED',
  'RELEASED',
  'FINAL',
  'READ',
  'CREDIT',
  'FALLBACK',
  'REVOKE',
  'WEBHOOK',
] as const;

const TimelineEvent = Type.Object({
  at: instant('UTC; when it was recorded here.'),
  kind: Type.Enum([...EVENT_KINDS], {
    type: 'string',
    description:
      'ACCEPTED, PRICED, SCHEDULED or QUEUED; each ATTEMPT to give it to a carrier; HELD: its network has it and holds it back for now; each RECEIPT, also doubled, ' +
      'intermediate and late ones; what people did: CANCELLED, SETTLED by the operator, ' +
      'RELEASED after its time was missed; FINAL: the state that it ended in; READ: the person has seen it; CREDIT: charged or returned, or left to its campaign; ' +
      'FALLBACK: another message followed on another channel, or this one followed; REVOKE: its network is asked to take it back, or did not; each attempt to tell the WEBHOOK.',
  }),
  connection: orNull(Type.String({ description: 'The connection to the carrier.' })),
  text: orNull(Type.String({ description: "The carrier's own words where it has spoken, else a sentence of ours." })),
  attempt: Type.Optional(Type.Integer({ description: 'From 1.' })),
  outcome: Type.Optional(
    Type.Enum(['ACCEPTED', 'REFUSED', 'RETRY', 'UNKNOWN'], {
      type: 'string',
      description: 'Of an attempt. UNKNOWN: it was written and never answered. Of a REVOKE: REFUSED, or nobody knows.',
    }),
  ),
  code: Type.Optional(Type.String({ description: "The carrier's error code." })),
  carrierIds: Type.Optional(Type.Array(Type.String(), { description: "The carrier's ids, one a part." })),
  part: Type.Optional(Type.Integer({ description: 'The part of a long message, from 1.' })),
  possibleDuplicate: Type.Optional(Type.Boolean()),
  messageId: Type.Optional(Type.String({ description: 'Of a FALLBACK: the other message.' })),
  channel: Type.Optional(channelName('Of a FALLBACK: its channel.')),
  status: Type.Optional(Status),
  doneAt: Type.Optional(instant('UTC; when it happened, as the carrier says.')),
  parts: Type.Optional(Type.Integer()),
  amount: Type.Optional(Type.Number({ description: 'The price of the whole message.' })),
  currency: Type.Optional(Type.String()),
});

export const TimelineParams = Type.Object({
  messageId: Type.String({ minLength: 1, description: 'Our messageId, or your reference.' }),
});
export const Timeline = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
  events: Type.Array(TimelineEvent, { description: 'In the order in which they happened.' }),
});

export type TimelineEvent = Static<typeof TimelineEvent>;
export type Timeline = Static<typeof Timeline>;
export type StatusRecord = Static<typeof StatusRecord>;
export type NetworkStatus = Static<typeof NetworkStatus>;
export type SimpleStatus = Static<typeof SimpleStatus>;

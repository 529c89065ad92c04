import { type Static, Type } from 'typebox';
import { STATUS_NAMES } from '../states.ts';
import { shownAmount } from '../../platform/lib/amounts.ts';
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
  stage: Type.Enum(['SCHEDULED', 'QUEUED', 'SUBMITTED', 'FINAL'], {
    type: 'string',
    description:
      'Ours, because the specification has one deliveryStatus for all of them but the last: SCHEDULED waits for its ' +
      'scheduledDate, QUEUED for its turn or another attempt, SUBMITTED for receipts; FINAL changes no more.',
  }),
  sendDate: instant('UTC; the time of the submit, or until then the time at which it is to be sent.'),
  scheduledDate: orNull(Type.String({ description: 'The scheduled time; null: immediately.' })),
  deliveryDate: orNull(instant('UTC; set when a final receipt has arrived.')),
  parts: Type.Integer(),
  price: shownAmount(
    'Cost of the whole message: its price while that is reserved and once it is charged, 0 once it was returned ' +
      '(rejected, cancelled, or not delivered where only deliveries cost). 0 in simulation. The timeline keeps the price ' +
      'at which it was accepted.',
  ),
  campaignId: orNull(Type.Integer({ description: 'Null when the message belongs to no campaign.' })),
  possibleDuplicate: Type.Boolean({
    description:
      'True if it was sent again because the first submit was never answered: the person may receive it twice.',
  }),
  errorCode: orNull(Type.String({ description: "The carrier's error code." })),
  errorMessage: orNull(Type.String({ description: "The carrier's own text." })),
});

export const StatusParams = Type.Object({
  customerMessageId: Type.String({ minLength: 1, description: 'Your reference or our messageId.' }),
});
export const StatusQuery = Type.Object({
  channel: Type.Optional(channelName('404 when the message is on another channel.')),
});
const IdList = (description: string) =>
  Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 1000 })], {
      description: `${description}, separated by commas, or the parameter repeated; at most 1,000.`,
    }),
  );
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
      'SENT as soon as the message is accepted; READ if the person allows that to be reported; RECEIVED while the network ' +
      'holds the message back, as WhatsApp does with messages of a new template until it has reviewed that.',
  }),
  timestamp: instant('UTC; when the status was reached.'),
  error: orNull(Type.String({ description: "The network's own text; null when there is no error." })),
});
export const NetworkParams = Type.Object({ messageId: Type.String({ minLength: 1, description: 'Our messageId.' }) });

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
      'ACCEPTED, PRICED, then SCHEDULED or QUEUED. ATTEMPT: an attempt to submit it to a carrier. HELD: its network has it ' +
      'and holds it back for now. RECEIPT: a receipt, also a repeated, intermediate or late one. Actions of people: ' +
      'CANCELLED; SETTLED by the operator; RELEASED after its time was missed. FINAL: its final state. READ: the person ' +
      'has seen it. CREDIT: its price was charged, returned, or left to its campaign. FALLBACK: another message followed ' +
      'on another channel, or this one followed another. REVOKE: its network was asked to revoke it, or did not. WEBHOOK: ' +
      'an attempt to deliver an event to the webhook.',
  }),
  connection: orNull(Type.String({ description: 'The connection to the carrier.' })),
  text: orNull(
    Type.String({ description: "The carrier's own text where there is one, otherwise a sentence of ours." }),
  ),
  attempt: Type.Optional(Type.Integer({ description: 'The number of the attempt, from 1.' })),
  outcome: Type.Optional(
    Type.Enum(['ACCEPTED', 'REFUSED', 'RETRY', 'UNKNOWN'], {
      type: 'string',
      description:
        'The outcome of an ATTEMPT; UNKNOWN when it was submitted and never answered. For a REVOKE: REFUSED or UNKNOWN.',
    }),
  ),
  code: Type.Optional(Type.String({ description: "The carrier's error code." })),
  carrierIds: Type.Optional(Type.Array(Type.String(), { description: "The carrier's ids, one for each part." })),
  part: Type.Optional(Type.Integer({ description: 'The part of a long message, from 1.' })),
  possibleDuplicate: Type.Optional(Type.Boolean()),
  messageId: Type.Optional(Type.String({ description: 'The other message of a FALLBACK.' })),
  channel: Type.Optional(channelName('The channel of the other message of a FALLBACK.')),
  status: Type.Optional(Status),
  doneAt: Type.Optional(instant('UTC; when it happened, according to the carrier.')),
  parts: Type.Optional(Type.Integer()),
  amount: Type.Optional(
    Type.Number({ description: 'The price of the whole message. Omitted without the scope `money`.' }),
  ),
  currency: Type.Optional(Type.String()),
});

export const TimelineParams = Type.Object({
  messageId: Type.String({
    minLength: 1,
    description: 'Our messageId or your reference; not the references `status` and `scheduled`, which are other paths.',
  }),
});
export const Timeline = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
  events: Type.Array(TimelineEvent, { description: 'The events in the order in which they happened.' }),
});

export type TimelineEvent = Static<typeof TimelineEvent>;
export type Timeline = Static<typeof Timeline>;
export type StatusRecord = Static<typeof StatusRecord>;
export type NetworkStatus = Static<typeof NetworkStatus>;
export type SimpleStatus = Static<typeof SimpleStatus>;

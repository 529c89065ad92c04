import { type Static, type TObject, Type } from 'typebox';
import { CHANNEL, type Channel, isRich, isRoutedBySender } from '../core/channels.ts';
import { bigint, rowsOf, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { describeStatus, nameOfStatus, STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import type { Callback } from './urls.ts';

/** The two payloads of the specification: A has eventType and statusCode, B has a status text. */
export type Form = 'A' | 'B';

/** Data of an event itself; its payload also needs the facts of its message. */
type EventData = {
  /** The id of the sent or the inbound message. */
  readonly messageId: string;
  /** Code of the specification's status table, for a DELIVERY. */
  readonly status: number | null;
  readonly at: Date;
  /** The carrier's text for a failure. */
  readonly error: string | null;
};
export type MessageKey = { readonly accountId: number; readonly messageId: string };
export type Facts = SentFacts | ReceivedFacts;

type Payload<F> = {
  readonly name: string;
  readonly schema: TObject;
  /** Makes the payload; null: the form does not have this event. Pure: an event is the same however often it is sent. */
  of(event: EventData, facts: F): object | null;
};
type EventType<F> = {
  readonly summary: string;
  /** Lists the facts of messages: none of a deleted one, and none of one whose client requested no events. */
  readonly load: (db: Db, keys: readonly MessageKey[]) => Promise<readonly F[]>;
  readonly example: readonly [EventData, F];
  readonly A: Payload<F>;
  /** Omitted where the form has no such event. */
  readonly B?: Payload<F>;
};
const eventType = <F extends Facts>(type: EventType<F>): EventType<Facts> => type;

const messageId = Type.String({ format: 'uuid' });
const customerMessageId = Type.Optional(Type.String({ description: 'As given with the message.' }));
const phoneNumber = Type.String({ description: 'In E.164 format.' });
const timestamp = instant('UTC');

const DeliveryEvent = Type.Object({
  eventType: Type.Literal('DELIVERY'),
  messageId,
  customerMessageId,
  destination: phoneNumber,
  statusCode: Type.Enum(Object.values(STATUS), {
    type: 'integer',
    description: STATUS_NAMES.map((name) => `${STATUS[name]} ${describeStatus(name)}`).join(', '),
  }),
  description: Type.String(),
  channel: channelName(),
  timestamp,
});
const StatusEvent = Type.Object({
  messageId,
  customerMessageId,
  phoneNumber,
  status: Type.Enum(['SENT', 'DELIVERED', 'EXPIRED', 'ERROR'], { type: 'string' }),
  timestamp,
  channel: Type.Enum(['sms', 'rcs', 'whatsapp'], { type: 'string' }),
  error: orNull(Type.String({ description: 'The reason, if the status is ERROR.' })),
});
const ReadEvent = Type.Object({
  eventType: Type.Literal('READ'),
  messageId,
  destination: phoneNumber,
  channel: Type.Enum(['RCS', 'WHATSAPP'], { type: 'string' }),
  timestamp,
});
const InboundEvent = Type.Object({
  eventType: Type.Literal('INBOUND'),
  source: Type.String(),
  destination: Type.String({ description: 'Your number on SMS and WhatsApp, the id of your agent on RCS.' }),
  text: Type.String({ description: 'Untrusted: escape it wherever you show it.' }),
  channel: channelName(),
  messageType: Type.String({ description: 'For example, `TEXT`.' }),
  timestamp,
});

const AT = new Date('2027-01-15T09:30:00Z');
const EXAMPLE = { messageId: '01a1fd63-cf7c-7183-929b-000000000011', status: null, at: AT, error: null };
/** The facts of a message to +15005550006 that never existed. */
const SENT: SentFacts = {
  messageId: EXAMPLE.messageId,
  clientId: 'webhook-test',
  channel: 'SMS',
  destination: '+15005550006',
  submittedAt: AT,
  callback: null,
};
const RECEIVED: ReceivedFacts = {
  messageId: EXAMPLE.messageId,
  channel: 'SMS',
  messageType: 'TEXT',
  source: '393331234567',
  destination: '4400',
  ownNumber: null,
  text: 'Are you open today?',
};

/**
 * All kinds of events. Their bodies, the forms that have them, the test event, the filter of the log, the section
 * `webhooks` of docs/openapi.json and with it the types of the client follow from this table.
 */
export const EVENTS = {
  DELIVERY: eventType({
    summary: 'The status of a message has changed',
    load: listSentFacts,
    example: [{ ...EXAMPLE, status: STATUS.DELIVERED }, SENT],
    A: { name: 'DeliveryEvent', schema: DeliveryEvent, of: toDelivery },
    B: { name: 'StatusEvent', schema: StatusEvent, of: toStatus },
  }),
  READ: eventType({
    summary: 'The recipient has read the message (WhatsApp, RCS)',
    load: listSentFacts,
    example: [EXAMPLE, { ...SENT, channel: 'RCS' }],
    A: { name: 'ReadEvent', schema: ReadEvent, of: toRead },
  }),
  INBOUND: eventType({
    summary: 'A person has sent you a message',
    load: listReceivedFacts,
    example: [EXAMPLE, RECEIVED],
    A: { name: 'InboundEvent', schema: InboundEvent, of: toInbound },
  }),
};
export type WebhookEventKind = keyof typeof EVENTS;
export const WEBHOOK_EVENT_KINDS = Object.keys(EVENTS) as WebhookEventKind[];

/** An event as webhooks receive it. */
export type WebhookEvent = EventData & { readonly kind: WebhookEventKind };

/** The kind of the event that the gateway has accepted a message, which only format v2 has. */
export const ACCEPTED_KIND = 'ACCEPTED';

/** An event to publish; without a time, that of the transaction. */
export type NewWebhookEvent = MessageKey & {
  readonly kind: WebhookEventKind | typeof ACCEPTED_KIND;
} & { readonly [N in 'status' | 'at' | 'error']?: EventData[N] | null };

/** Makes the body of an event, or null when the form does not have it. */
export function bodyOf(form: Form, event: WebhookEvent, facts: Facts): string | null {
  const payload = EVENTS[event.kind][form]?.of(event, facts) ?? null;
  return payload && JSON.stringify(payload);
}

/** Describes the events of format v1 for OpenAPI: a webhook for each kind, and the schemas of their bodies by name. */
export function describeEvents() {
  const kinds = Object.entries(EVENTS).map(([kind, type]) => ({
    kind,
    ...type,
    payloads: [type.A, type.B ?? []].flat(),
  }));
  return {
    schemas: Object.fromEntries(kinds.flatMap(({ payloads }) => payloads.map(({ name, schema }) => [name, schema]))),
    webhooks: Object.fromEntries(
      kinds.map(({ kind, summary, example, A, payloads }) => {
        const anyOf = payloads.map(({ name }) => ({ $ref: `#/components/schemas/${name}` }));
        const examples = Object.fromEntries(payloads.map(({ name, of }) => [name, { value: of(...example) }]));
        const requestBody = { required: true, content: { 'application/json': { schema: { anyOf }, examples } } };
        const responses = { 200: { description: 'Any 2xx within 5 seconds acknowledges the event.' } };
        const operationId = `on${A.name}`;
        return [kind, { post: { tags: ['Webhooks'], operationId, summary, security: [], requestBody, responses } }];
      }),
    ),
  };
}

/** Before its end a message reads UNKNOWN on RCS and WhatsApp, so acceptance is not an event there. */
function toDelivery(event: EventData, facts: SentFacts): Static<typeof DeliveryEvent> | null {
  const { channel, destination } = facts;
  const name = statusOf(event);
  if (name === 'ACCEPTED' && !CHANNEL[channel].showsAccepted) return null;
  return {
    eventType: 'DELIVERY',
    messageId: event.messageId,
    ...clientIdOf(facts),
    destination,
    statusCode: STATUS[name],
    description: describeStatus(name),
    channel,
    timestamp: timestampOf(event, facts),
  };
}

function toStatus(event: EventData, facts: SentFacts): Static<typeof StatusEvent> {
  const name = statusOf(event);
  const status = STATUS_TEXTS[name] ?? 'ERROR';
  return {
    messageId: event.messageId,
    ...clientIdOf(facts),
    phoneNumber: facts.destination,
    status,
    timestamp: timestampOf(event, facts),
    channel: LOWER_CASE[facts.channel],
    error: status === 'ERROR' ? (event.error ?? describeStatus(name)) : null,
  };
}

/** No carrier of SMS reports that a message was read. */
function toRead(event: EventData, facts: SentFacts): Static<typeof ReadEvent> | null {
  const { destination, channel } = facts;
  if (!isRich(channel)) return null;
  return {
    eventType: 'READ',
    messageId: event.messageId,
    destination,
    channel,
    timestamp: timestampOf(event, facts),
  };
}

function toInbound({ at }: EventData, facts: ReceivedFacts): Static<typeof InboundEvent> {
  return {
    eventType: 'INBOUND',
    source: withPlus(facts.source),
    destination: receiverOf(facts),
    text: facts.text,
    channel: facts.channel,
    messageType: facts.messageType,
    timestamp: at.toISOString(),
  };
}

const statusOf = ({ status }: EventData): StatusName => nameOfStatus(status ?? STATUS.UNKNOWN);

/**
 * Returns the time of an event. Carriers report minutes or seconds, in their own time zones: no end is reported as
 * earlier than the submit, which has the time at which it was recorded.
 */
function timestampOf({ at, status }: EventData, { submittedAt }: SentFacts): string {
  const isEarlier = submittedAt !== null && (status === STATUS.ACCEPTED || submittedAt > at);
  return (isEarlier ? submittedAt : at).toISOString();
}

const clientIdOf = ({ clientId }: SentFacts) => (clientId === null ? {} : { customerMessageId: clientId });

const STATUS_TEXTS: { readonly [N in StatusName]?: 'SENT' | 'DELIVERED' | 'EXPIRED' } = {
  ACCEPTED: 'SENT',
  DELIVERED: 'DELIVERED',
  EXPIRED: 'EXPIRED',
};
const LOWER_CASE = { SMS: 'sms', RCS: 'rcs', WHATSAPP: 'whatsapp' } as const satisfies Record<Channel, string>;

/** Adds the plus that carriers omit; anything but a full number (a short code, a name) is unchanged. */
export const withPlus = (address: string): string => (/^[1-9]\d{6,14}$/.test(address) ? `+${address}` : address);

/** Returns the account's number if known, and otherwise the id that the network has for it. */
export const receiverOf = ({
  channel,
  destination,
  ownNumber,
}: Pick<ReceivedFacts, 'channel' | 'destination' | 'ownNumber'>): string => {
  if (!isRoutedBySender(channel)) return withPlus(destination);
  return ownNumber === null ? destination : withPlus(ownNumber);
};

const SUFFIX_AT = 32;

/**
 * Makes the id of an event: the UUIDv7 of its row (`seed`), with the last 16 bits XORed with its place in the row.
 * Pure, so that a worker that takes over from a dead one sends the same event under the same `webhook-id`.
 */
export function eventIdOf(seed: string, place: number): string {
  const suffix = Number.parseInt(seed.slice(SUFFIX_AT), 16) ^ place;
  return seed.slice(0, SUFFIX_AT) + suffix.toString(16).padStart(4, '0');
}

/** Unpacks the keys of messages as rows. */
export const rowsOfMessages = (keys: readonly MessageKey[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.messageId) });

const SENT_FACTS = columns({
  messageId: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  submittedAt: as<Date | null>('s.submitted_at'),
  callback: as<Callback | null>("m.client_data->'callback'"),
});
export type SentFacts = RowOf<typeof SENT_FACTS>;

/**
 * Lists the facts of sent messages whose clients requested events (`enableNotification`, `enableDelivery`).
 *
 * The limits make the planner look up each key. Without statistics it read every row of that range instead: for single
 * sends, 130 µs of CPU a message.
 */
export async function listSentFacts(db: Db, keys: readonly MessageKey[]): Promise<SentFacts[]> {
  const [firstId, lastId] = boundsOf(keys.map((key) => key.messageId));
  return many(
    db,
    sql`SELECT ${SENT_FACTS}
        FROM ${rowsOfMessages(keys)} AS u
        CROSS JOIN LATERAL (
          SELECT id, client_id, channel, destination, client_data FROM message
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} AND want_receipt LIMIT 1) AS m
        LEFT JOIN LATERAL (
          SELECT submitted_at FROM message_state
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} LIMIT 1) AS s ON true`,
  );
}

const RECEIVED_FACTS = columns({
  messageId: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  messageType: as<string>('m.message_type'),
  source: as<string>('m.source'),
  /** The account's number, or the id by which a network other than SMS knows it. */
  destination: as<string>('m.destination'),
  /** The account's number in digits, where `destination` is an id; null if unknown. */
  ownNumber: as<string | null>("m.details->>'ownNumber'"),
  text: as<string>('m.body'),
});
type ReceivedFacts = RowOf<typeof RECEIVED_FACTS>;

/** Lists the facts of inbound messages. Carriers write numbers without a plus, and short codes. */
async function listReceivedFacts(db: Db, keys: readonly MessageKey[]): Promise<ReceivedFacts[]> {
  return many(
    db,
    sql`SELECT ${RECEIVED_FACTS}
        FROM ${rowsOfMessages(keys)} AS u JOIN inbound_message m ON m.account_id = u.account_id AND m.id = u.id`,
  );
}

import { type Static, type TObject, Type } from 'typebox';
import { InboundContent } from '../channels/inbound-content.ts';
import { nameOfStatus, STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { ACCEPTED_KIND, describeEvents, receiverOf, withPlus } from './events.ts';
import { FACTS } from './fact-types.ts';
import type { InboundFacts, MessageFacts } from './facts.ts';

/** An event as it is stored, before its data are loaded. */
export type StoredEvent = {
  /** The message, or for other events an id made of what they belong to: events with the same one stay in order. */
  readonly messageId: string;
  readonly status: number | null;
  readonly at: Date;
  /** The carrier's text for a failure. */
  readonly error: string | null;
};

/** Makes the link to the file of an inbound message. */
export type Links = {
  fileUrl(file: { readonly accountId: number; readonly messageId: string; readonly at: Date }): string;
};

type TypeOfEvents<F> = {
  /** Changes when a field of `data` is removed or changes its meaning. */
  readonly version: number;
  readonly summary: string;
  /** The kind under which the outbox stores it, and of a DELIVERY the statuses that it stands for. */
  readonly kind: string;
  readonly statuses?: readonly number[];
  readonly data: TObject;
  of(event: StoredEvent & { readonly accountId: number }, facts: F, links: Links): object | null;
  readonly example: readonly [StoredEvent, F];
};

const CANCELLED: readonly number[] = [STATUS.DELETED];
const FAILED: readonly number[] = [
  STATUS.REJECTED,
  STATUS.UNDELIVERABLE,
  STATUS.ERROR,
  STATUS.DISABLED,
  STATUS.UNSUPPORTED,
  STATUS.CONVERSATION_CLOSED,
];

const MessageError = Type.Object({
  carrierCode: orNull(Type.String({ description: "The carrier's own code." })),
  text: orNull(Type.String({ description: "The carrier's own text." })),
  permanent: orNull(
    Type.Boolean({ description: 'True: the same message will fail again. Null: the status does not say.' }),
  ),
  whoseFault: orNull(
    Type.Enum(['sender', 'recipient'], { type: 'string', description: 'Null: the status does not say.' }),
  ),
});
const MessageData = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
  from: Type.String({ description: 'The sender.' }),
  to: Type.String({ description: 'The recipient.' }),
  status: Type.Object({
    code: Type.Enum(Object.values(STATUS), { type: 'integer' }),
    name: Type.Enum(STATUS_NAMES, { type: 'string' }),
  }),
  error: orNull(MessageError),
  parts: Type.Integer(),
  price: orNull(
    Type.Object(
      {
        amount: Type.Number(),
        category: orNull(Type.String()),
        billable: orNull(
          Type.Boolean({ description: 'As Meta reports with the first receipt. Null before it, and elsewhere.' }),
        ),
      },
      { description: 'Null if the endpoint was made without the scope `money`.' },
    ),
  ),
  attempts: Type.Integer({ description: 'How often it was submitted so far.' }),
  connection: orNull(
    Type.String({
      description: 'The connection to the carrier. Null without the scope `money`, and before it is known.',
    }),
  ),
  campaignId: orNull(Type.Integer()),
  fallbackOf: orNull(
    Type.String({ format: 'uuid', description: 'The message on another channel that this one follows.' }),
  ),
  simulation: Type.Boolean(),
  metadata: Type.Record(Type.String(), Type.String(), { description: 'As given with the send.' }),
  tags: Type.Array(Type.String(), { description: 'As given with the send.' }),
});

const ReceivedData = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  chatId: orNull(Type.String({ format: 'uuid', description: 'The conversation, for a reply.' })),
  contactId: orNull(Type.Integer()),
  channel: channelName(),
  from: Type.String({ description: 'The number of the person, or a user id.' }),
  profileName: orNull(Type.String()),
  to: Type.String({ description: 'Your number on SMS and WhatsApp, the id of your agent on RCS.' }),
  messageType: Type.String({ description: 'For example, `TEXT`.' }),
  text: Type.String({ description: 'Untrusted: escape it wherever you show it.' }),
  media: Type.Array(
    Type.Object({
      url: Type.String({
        description:
          'Opens the file without credentials for seven days. 404 for the seconds in which it is fetched from the network.',
      }),
      mimeType: orNull(Type.String()),
      fileName: orNull(Type.String()),
    }),
  ),
  isOptOut: Type.Boolean({ description: 'True for STOP and its like.' }),
  // What the person pressed, chose, quoted or shared: each only in a message that has it.
  ...InboundContent.properties,
});

const AT = new Date('2027-01-15T09:30:00Z');
const EXAMPLE = { messageId: '01a1fd63-cf7c-7183-929b-000000000011', status: null, at: AT, error: null };

const FAULTS: { readonly [N in StatusName]?: Pick<Static<typeof MessageError>, 'permanent' | 'whoseFault'> } = {
  EXPIRED: { permanent: false, whoseFault: 'recipient' },
  UNDELIVERABLE: { permanent: null, whoseFault: 'recipient' },
  DISABLED: { permanent: true, whoseFault: 'recipient' },
  UNSUPPORTED: { permanent: true, whoseFault: 'recipient' },
  CONVERSATION_CLOSED: { permanent: false, whoseFault: 'sender' },
};

function toMessage({ messageId, status, error: text }: StoredEvent, facts: MessageFacts): Static<typeof MessageData> {
  const name = nameOfStatus(status ?? facts.status ?? STATUS.UNKNOWN);
  const failed = name === 'EXPIRED' || FAILED.includes(STATUS[name]);
  return {
    messageId,
    customerMessageId: facts.clientId,
    channel: facts.channel,
    from: facts.sender,
    to: facts.destination,
    status: { code: STATUS[name], name },
    error: failed
      ? { carrierCode: facts.errorCode, text, ...(FAULTS[name] ?? { permanent: null, whoseFault: null }) }
      : null,
    parts: facts.parts,
    price: { amount: fromMicros(facts.priceMicros), category: facts.priceCategory, billable: facts.billable },
    attempts: facts.attempts ?? 0,
    connection: facts.connection,
    campaignId: facts.campaignId,
    fallbackOf: facts.clientData?.fallbackOf ?? null,
    simulation: facts.simulation,
    metadata: facts.clientData?.metadata ?? {},
    tags: [...(facts.clientData?.tags ?? [])],
  };
}

/** Its state is that of the acceptance, whatever has happened since. */
const toAccepted: TypeOfEvents<MessageFacts>['of'] = (event, facts) =>
  toMessage({ ...event, status: STATUS.UNKNOWN }, { ...facts, attempts: 0, connection: null });

const toReceived: TypeOfEvents<InboundFacts>['of'] = (event, facts, links): Static<typeof ReceivedData> => ({
  messageId: event.messageId,
  chatId: facts.chatId,
  contactId: facts.contactId,
  channel: facts.channel,
  from: withPlus(facts.source),
  profileName: facts.profileName,
  to: receiverOf(facts),
  messageType: facts.messageType,
  text: facts.body,
  media: facts.media === null ? [] : [{ url: links.fileUrl(event), ...facts.media }],
  isOptOut: facts.isOptOut ?? false,
  ...facts.content,
});

const SENT_EXAMPLE = {
  messageId: EXAMPLE.messageId,
  clientId: 'order-4711',
  channel: 'SMS',
  sender: 'Acme',
  destination: '+15005550006',
  parts: 1,
  priceMicros: 45_000,
  priceCategory: null,
  billable: null,
  campaignId: null,
  simulation: false,
  status: null,
  errorCode: null,
  attempts: 1,
  connection: 'carrier-a',
  clientData: { metadata: { order: '4711' }, tags: ['spring'] },
  callback: null,
} as const satisfies MessageFacts;
const RECEIVED_EXAMPLE = {
  messageId: EXAMPLE.messageId,
  channel: 'WHATSAPP',
  messageType: 'IMAGE',
  source: '393331234567',
  destination: '100000000000001',
  ownNumber: '390212345678',
  body: 'Is this the right part?',
  profileName: 'Ada',
  media: { mimeType: 'image/jpeg', fileName: null },
  isOptOut: false,
  content: { replyTo: { networkId: 'wamid.1', messageId: '01a1fd63-cf7c-7183-929b-000000000013' } },
  chatId: '01a1fd63-cf7c-7183-929b-000000000012',
  contactId: 17,
} as const satisfies InboundFacts;

const messageType = (
  summary: string,
  kind: string,
  statuses: readonly number[] | null,
  example: Partial<StoredEvent & MessageFacts> = {},
): TypeOfEvents<MessageFacts> => ({
  version: 2,
  summary,
  kind,
  ...(statuses && { statuses }),
  data: MessageData,
  of: toMessage,
  example: [
    { ...EXAMPLE, status: statuses?.[0] ?? null, ...example },
    { ...SENT_EXAMPLE, ...example },
  ],
});

const MESSAGES = {
  'message.accepted': {
    ...messageType('The gateway has accepted a message', ACCEPTED_KIND, null),
    of: toAccepted,
  },
  'message.sent': messageType('A carrier has taken a message', 'DELIVERY', [STATUS.ACCEPTED]),
  'message.delivered': messageType('A message has reached the handset', 'DELIVERY', [STATUS.DELIVERED]),
  'message.failed': messageType('A message will not arrive', 'DELIVERY', FAILED, {
    status: STATUS.UNDELIVERABLE,
    error: 'absent subscriber',
    errorCode: '27',
  }),
  'message.expired': messageType('A message was not delivered in time', 'DELIVERY', [STATUS.EXPIRED]),
  'message.cancelled': messageType('A message was cancelled before it was sent', 'DELIVERY', CANCELLED),
  'message.read': messageType('The recipient has read the message (WhatsApp, RCS)', 'READ', null, {
    status: STATUS.DELIVERED,
    channel: 'WHATSAPP',
  }),
} satisfies Record<string, TypeOfEvents<MessageFacts>>;

const INBOUND = {
  'message.received': {
    version: 2,
    summary: 'A person has sent you a message',
    kind: 'INBOUND',
    data: ReceivedData,
    of: toReceived,
    example: [EXAMPLE, RECEIVED_EXAMPLE],
  },
} satisfies Record<string, TypeOfEvents<InboundFacts>>;

const factType = (
  kind: string,
  { example, ...type }: { readonly summary: string; readonly data: TObject; readonly example: object },
): TypeOfEvents<object> => ({ ...type, kind, version: 2, of: (_event, facts) => facts, example: [EXAMPLE, example] });

/**
 * All types of events that endpoints of format v2 receive: their data, the operation that lists them, the webhooks of
 * docs/openapi.json and with it the types of the client, and the table of docs/operations.md follow from this table.
 */
export const EVENT_TYPES: Readonly<Record<string, TypeOfEvents<object>>> = {
  ...MESSAGES,
  ...INBOUND,
  ...Object.fromEntries(Object.entries(FACTS).map(([kind, type]) => [kind, factType(kind, type)])),
};
export const EVENT_TYPE_NAMES: readonly string[] = Object.keys(EVENT_TYPES);

/** Returns the type of an event in format v2; undefined for one that only the webhook of the specification receives. */
export function typeOf({
  kind,
  status,
}: {
  readonly kind: string;
  readonly status: number | null;
}): string | undefined {
  return BY_KIND.get(kind)?.find((name) => EVENT_TYPES[name]?.statuses?.includes(status ?? STATUS.UNKNOWN) ?? true);
}
const BY_KIND = Map.groupBy(EVENT_TYPE_NAMES, (name) => EVENT_TYPES[name]?.kind ?? '');

/** Returns the types that a pattern such as `message.*`, `*` or `message.read` names. */
export const typesOf = (pattern: string): string[] =>
  pattern.endsWith('*')
    ? EVENT_TYPE_NAMES.filter(
        (name) => (pattern === '*' || pattern.endsWith('.*')) && name.startsWith(pattern.slice(0, -1)),
      )
    : EVENT_TYPE_NAMES.filter((name) => name === pattern);

/** Returns the kinds and statuses of patterns, as the statement that writes the outbox compares them. */
export function kindsOf(patterns: readonly string[]): { kinds: string[]; statuses: number[] } {
  const types = [...new Set(patterns.flatMap(typesOf))].flatMap((name) => EVENT_TYPES[name] ?? []);
  return {
    kinds: [...new Set(types.map(({ kind }) => kind))],
    statuses: [...new Set(types.flatMap(({ statuses = [] }) => statuses))],
  };
}

/** The envelope of an event in format v2. */
export const envelope = (type: string, data: TObject) =>
  Type.Object({
    id: Type.String({ format: 'uuid', description: 'As in `webhook-id`: the same for all endpoints and attempts.' }),
    type: Type.Literal(type),
    version: Type.Literal(EVENT_TYPES[type]?.version ?? 2),
    occurredAt: instant('UTC'),
    accountId: Type.Integer(),
    data,
  });

type Enveloped = StoredEvent & { readonly id: string; readonly accountId: number; readonly kind: string };

/** Fields that only callers with the scope `money` see. */
const OF_MONEY = ['price', 'connection', 'availableCredit'];

const withoutAmounts = (data: object): object => ({
  ...data,
  ...Object.fromEntries(OF_MONEY.filter((field) => field in data).map((field) => [field, null])),
});

/** Makes the envelope of an event for an endpoint; null: the type has no such event. */
export function envelopeOf(event: Enveloped, facts: object, options: Links & { readonly showsAmounts: boolean }) {
  const type = typeOf(event);
  const data = type === undefined ? null : (EVENT_TYPES[type]?.of(event, facts, options) ?? null);
  if (type === undefined || data === null) return null;
  return {
    id: event.id,
    type,
    version: EVENT_TYPES[type]?.version,
    occurredAt: event.at.toISOString(),
    accountId: event.accountId,
    data: options.showsAmounts ? data : withoutAmounts(data),
  };
}

/** Describes the events of both formats for OpenAPI. */
export function describeAllEvents(): ReturnType<typeof describeEvents> {
  const v1 = describeEvents();
  const nameOf = (type: string): string =>
    `${type.replace(/(^|[._-])(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;
  const types = EVENT_TYPE_NAMES.map((type) => ({ type, name: nameOf(type), ...EVENT_TYPES[type] }));
  return {
    schemas: {
      ...v1.schemas,
      ...Object.fromEntries(types.map(({ type, name, data = Type.Object({}) }) => [name, envelope(type, data)])),
    },
    webhooks: {
      ...v1.webhooks,
      ...Object.fromEntries(
        types.map(({ type, name, summary = '' }) => {
          const anyOf = [{ $ref: `#/components/schemas/${name}` }];
          const examples = { [name]: { value: exampleOf(type) } };
          const requestBody = { required: true, content: { 'application/json': { schema: { anyOf }, examples } } };
          const responses = { 200: { description: 'Any 2xx within 5 seconds acknowledges the event.' } };
          return [
            type,
            { post: { tags: ['Webhooks'], operationId: `on${name}`, summary, security: [], requestBody, responses } },
          ];
        }),
      ),
    },
  };
}

/** Makes the example of a type, as an endpoint receives it. */
export function exampleOf(type: string) {
  const known = EVENT_TYPES[type];
  const [event, facts] = known?.example ?? [EXAMPLE, {}];
  const about = { kind: known?.kind ?? '', accountId: 1, id: '01a1fd63-d064-7183-929b-000000000001' };
  const fileUrl = ({ messageId }: { messageId: string }): string =>
    `https://gateway.example.com/api/files/${messageId}?signature=…`;
  return envelopeOf({ ...event, ...about }, facts, { showsAmounts: true, fileUrl });
}

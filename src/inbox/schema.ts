import { type Static, Type } from 'typebox';
import { InboundContent } from '../channels/inbound-content.ts';
import { CHANNELS } from '../core/channels.ts';
import { invalidFields } from '../core/errors.ts';
import { STATUS_NAMES } from '../core/message-state.ts';
import { MAX_USER_ID_LENGTH } from '../core/phone.ts';
import { channelName, displayName, id, instant, orNull } from '../core/schema.ts';
import { instantField, parseInstant } from '../core/time.ts';
import { CONVERSATION_ORDERS, type ConversationFilter, type ConversationOrder, LabelOut } from './listing.ts';

const oneOf = (values: readonly string[], description: string) =>
  Type.Enum([...values], { type: 'string', description });

const Channel = channelName();
const Direction = oneOf(['INBOUND', 'OUTBOUND'], 'INBOUND: sent by the person.');
const MessageType = Type.String({
  description:
    'TEXT, IMAGE, VIDEO, AUDIO, DOCUMENT, STICKER, LOCATION, CONTACTS, REACTION, BUTTON, TEMPLATE or OTHER; DELETED: the ' +
    'person has deleted the message.',
});
const UserId = id();

const CHANNEL_LIST = `(${CHANNELS.join('|')})`;
const ChannelIds = Type.String({
  pattern: `^${CHANNEL_LIST}(,${CHANNEL_LIST}){0,9}$`,
  'x-message': `must be one of ${CHANNELS.join(', ')}, or several separated by commas`,
});
const ORDER_LIST = CONVERSATION_ORDERS.join('|');

/** The query parameters that filter and sort the list of conversations. */
export const conversationFields = {
  dateFrom: Type.Optional(
    Type.String({
      description: 'The last message was after this time: yyyy-MM-dd (in UTC) or ISO 8601 with an offset.',
    }),
  ),
  channelIds: Type.Optional(
    Type.Array(ChannelIds, {
      maxItems: 9,
      description: 'Channels, separated by commas or as repeated parameters.',
    }),
  ),
  unreadOnly: Type.Boolean({ default: false }),
  archived: Type.Boolean({
    default: false,
    description: 'True: only archived conversations. False: only those that are not archived.',
  }),
  snoozed: Type.Optional(
    Type.Boolean({
      description: 'With `archived`. True: only snoozed conversations. False: only those that are not snoozed.',
    }),
  ),
  labelId: Type.Optional(id('Conversations with this label.')),
  assignee: Type.Optional(
    Type.String({
      pattern: '^(none|[1-9]\\d{0,14})$',
      'x-message': 'must be the id of a user, or none',
      description: 'Conversations assigned to this user (a userId), or with `none` unassigned ones.',
    }),
  ),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'A part of the name, number or email address, case-insensitive.' }),
  ),
  orderBy: Type.String({
    default: '-lastMessageDate',
    // A plus that is not escaped in a URL arrives as a blank.
    pattern: `^[-+ ]?(${ORDER_LIST})$`,
    'x-message': `must be ${CONVERSATION_ORDERS.join(' or ')}, after - for descending or + for ascending`,
    description: 'The field, after - (descending) or + (ascending).',
  }),
};
const ConversationQuery = Type.Object(conversationFields);
export type ConversationQuery = Static<typeof ConversationQuery>;

export const ChatId = Type.Object({ chatId: Type.String({ format: 'uuid' }) });

export const ConversationOut = Type.Object({
  chatId: Type.String({ format: 'uuid' }),
  channel: Channel,
  contact: Type.Object({
    id: orNull(Type.Integer({ description: 'Null: no contact has this number, or you lack the scope `contacts`.' })),
    name: Type.String({
      description: 'The name of the contact (with the scope `contacts`), or else on the network, or else the number.',
    }),
    phoneNumber: orNull(Type.String({ description: 'Null: the network does not identify the person by a number.' })),
    optedOut: Type.Boolean({ description: 'True if the person has opted out of this channel.' }),
  }),
  channelIdentity: Type.String({ description: 'Your number, agent or phone number id in the newest message.' }),
  unreadCount: Type.Integer(),
  lastMessage: Type.Object({
    text: Type.String({ description: 'Its first 1,000 characters.' }),
    direction: Direction,
    timestamp: instant('UTC'),
    messageType: MessageType,
  }),
  lastMessageDate: instant('UTC'),
  archived: Type.Boolean({ description: 'True if it is archived; a snoozed conversation is, too.' }),
  snoozedUntil: orNull(
    instant('Time at which it returns to the list, if the person does not write earlier. Null: it is not snoozed.'),
  ),
  labels: Type.Array(LabelOut),
  assignee: orNull(Type.Object({ userId: UserId, username: Type.String() })),
  windowExpiresAt: orNull(
    instant('WhatsApp: time until which a free-form reply reaches the person. After that, only templates do.'),
  ),
});
export type ConversationOut = Static<typeof ConversationOut>;

export const ThreadQuery = Type.Object({
  idFrom: Type.Optional(Type.String({ format: 'uuid', description: 'This message and later ones.' })),
  idTo: Type.Optional(Type.String({ format: 'uuid', description: 'This message and earlier ones.' })),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20 }),
});

const Media = Type.Object({
  id: orNull(Type.Integer()),
  state: oneOf(['PENDING', 'STORED', 'FAILED'], 'PENDING: being fetched from the network. FAILED: not available.'),
  url: orNull(Type.String({ description: 'A signed URL: valid for a day, without credentials.' })),
  thumbnailUrl: orNull(Type.String()),
  mimeType: orNull(Type.String()),
  fileName: orNull(Type.String()),
  sizeBytes: orNull(Type.Integer()),
});

export const MessageOut = Type.Object({
  id: Type.String({ format: 'uuid', description: 'For a reply, this is its messageId.' }),
  direction: Direction,
  text: Type.String(),
  messageType: MessageType,
  media: orNull(Media),
  content: orNull(InboundContent),
  deliveryStatus: orNull(oneOf([...STATUS_NAMES, 'READ'], 'The status of a reply. READ: the person has seen it.')),
  consent: orNull(oneOf(['OPTED_OUT', 'OPTED_IN'], 'The effect of a message such as STOP or START.')),
  timestamp: instant('UTC'),
});
export type MessageOut = Static<typeof MessageOut>;
export const SentOut = Type.Object({ chatId: Type.String({ format: 'uuid' }), ...MessageOut.properties });
export type SentOut = Static<typeof SentOut>;

const Values = Type.Union([
  Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 }),
  Type.Record(Type.String(), Type.String({ maxLength: 1024 })),
]);

export const ReplyIn = Type.Object({
  chatId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Alternatively: channel, destination and channelIdentity.' }),
  ),
  channel: Type.Optional(Channel),
  destination: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_USER_ID_LENGTH,
      description: 'E.164; on WhatsApp also the user id of a person who shows no number.',
    }),
  ),
  channelIdentity: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'The sender: a number, an agent or a phone number id.' }),
  ),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
  mediaId: Type.Optional(id('The id of an upload; only on RCS and WhatsApp.')),
  template: Type.Optional(
    Type.Object({
      id: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'On WhatsApp alternatively: name and language.' }),
      ),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
      language: Type.Optional(Type.String({ minLength: 1, maxLength: 20 })),
      variables: Type.Optional(Values),
      headerLink: Type.Optional(Type.String({ pattern: '^https?://[^\\s]{1,2040}$' })),
    }),
  ),
});
export type ReplyIn = Static<typeof ReplyIn>;

export const SnoozeIn = Type.Object({
  until: instantField('Time at which the conversation returns to the list, as unread; within a year.'),
});

export const AssigneeIn = Type.Object({ userId: UserId });
export const AssignableOut = Type.Object({
  id: UserId,
  username: Type.String(),
  displayName,
  role: oneOf(['sender', 'manager', 'admin'], 'A viewer cannot reply.'),
});

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads the filter of a list of conversations. Errors: 400 when `dateFrom` is not a date. */
export function readFilter(accountId: number, query: ConversationQuery): ConversationFilter {
  const { archived, snoozed, labelId, unreadOnly, dateFrom, channelIds, assignee, search } = query;
  const named = channelIds?.flatMap((list) => list.split(','));
  const channels = named && CHANNELS.filter((channel) => named.includes(channel));
  const assigneeId = assignee === undefined || assignee === 'none' ? assignee : Number(assignee);
  return {
    accountId,
    archived,
    snoozed,
    labelId,
    unreadOnly,
    channels,
    assigneeId,
    search,
    since: readSince(dateFrom),
  };
}

function readSince(dateFrom: string | undefined): Date | undefined {
  if (dateFrom === undefined) return undefined;
  const since = parseInstant(DAY.test(dateFrom) ? `${dateFrom}T00:00:00Z` : dateFrom);
  if (since === null)
    throw invalidFields([{ field: 'dateFrom', message: 'must be yyyy-MM-dd, or ISO 8601 with an offset' }]);
  // Responses have whole milliseconds, and conversations updated after one of them are wanted.
  return new Date(since.getTime() + 1);
}

/** Reads an order such as `-lastMessageDate`. Without a sign it is ascending. The schema has checked the name. */
export function readOrder(orderBy: string): ConversationOrder {
  const by = CONVERSATION_ORDERS.find((name) => orderBy.endsWith(name)) ?? 'lastMessageDate';
  return { by, descending: orderBy.startsWith('-') };
}

import { type Static, Type } from 'typebox';
import { CHANNEL, CHANNELS, type Channel, type Purpose } from '../core/channels.ts';
import {
  as,
  columns,
  type Db,
  many,
  maybeOne,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { isUuid, timeOfId } from '../core/ids.ts';
import { describeStatus, isFinal, nameOfStatus, STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { type AmountReader, amountFor, shownAmount } from '../core/money.ts';
import { channelName, instant, orNull, purposeSchema } from '../core/schema.ts';
import { formatScheduledDate } from '../core/time.ts';
import type { ClientData } from '../webhooks/urls.ts';

const Status = Type.Enum([...STATUS_NAMES], { type: 'string' });

/** Fields that only messages have whose client gave them. */
const Given = {
  metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'As given with the send.' })),
  tags: Type.Optional(Type.Array(Type.String(), { description: 'As given with the send.' })),
};
export const givenOf = ({ clientData }: { readonly clientData: ClientData | null }) => ({
  ...(clientData?.metadata && { metadata: clientData.metadata }),
  ...(clientData?.tags && { tags: [...clientData.tags] }),
});

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
  purpose: orNull(purposeSchema('Null when it has none.')),
  ...Given,
  possibleDuplicate: Type.Boolean({
    description:
      'True if it was sent again because the first submit never got a response: the person may receive it twice.',
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
        'The outcome of an ATTEMPT; UNKNOWN when it was submitted and never got a response. For a REVOKE: REFUSED or UNKNOWN.',
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
  ...Given,
  events: Type.Array(TimelineEvent, { description: 'The events in the order in which they happened.' }),
});

export type TimelineEvent = Static<typeof TimelineEvent>;
export type Timeline = Static<typeof Timeline>;
export type StatusRecord = Static<typeof StatusRecord>;
export type NetworkStatus = Static<typeof NetworkStatus>;
export type SimpleStatus = Static<typeof SimpleStatus>;

/**
 * Finds messages of one account by our ids and by the client's. Unknown ids and those of other accounts are omitted. A
 * client id that was used again gives its newest message.
 */
export async function findRecords(
  pool: Db,
  { accountId }: { readonly accountId: number },
  { ids, clientIds }: { readonly ids: readonly string[]; readonly clientIds: readonly string[] },
): Promise<MessageRecord[]> {
  const named = clientIds.length > 0 ? await listMessageIdsByClientId(pool, { accountId, clientIds }) : [];
  const all = [...new Set([...ids.filter(isUuid).map((id) => id.toLowerCase()), ...named.map((row) => row.messageId)])];
  return all.length > 0 ? listRecordsById(pool, { accountId, ids: all }) : [];
}

/** Finds one message by the client's id or, when no message has that, by ours. */
export async function findRecord(
  pool: Db,
  actor: { readonly accountId: number },
  id: string,
): Promise<MessageRecord | undefined> {
  const [byClientId] = await findRecords(pool, actor, { ids: [], clientIds: [id] });
  if (byClientId || !isUuid(id)) return byClientId;
  const [byId] = await findRecords(pool, actor, { ids: [id], clientIds: [] });
  return byId;
}

/**
 * Returns the status. A message without a state is still queued: its status is ACCEPTED on SMS and UNKNOWN elsewhere
 * (specification).
 */
export function statusOf({ status, channel }: MessageRecord): StatusName {
  if (status !== null && (status !== STATUS.ACCEPTED || CHANNEL[channel].showsAccepted)) return nameOfStatus(status);
  return CHANNEL[channel].showsAccepted ? 'ACCEPTED' : 'UNKNOWN';
}

/** A condition, as in `statusOf`: messages in this column's channel are ACCEPTED until their final state. */
export const showsAccepted = (channel: Sql): Sql => {
  const names = CHANNELS.filter((one) => CHANNEL[one].showsAccepted);
  return sql`${channel} IN (${raw(names.map((name) => `'${name}'`).join())})`;
};

/** Returns the status of a message in the specification's form, as this caller may see it. */
export function toStatusRecord(record: MessageRecord, reader: AmountReader): StatusRecord {
  const name = statusOf(record);
  const final = isFinal(STATUS[name]);
  return {
    messageId: record.id,
    customerMessageId: record.clientId,
    channel: record.channel,
    destination: record.destination,
    sender: record.sender,
    deliveryStatus: name,
    deliveryStatusCode: STATUS[name],
    deliveryStatusDescription: describeStatus(name),
    stage: stageOf(record, final),
    sendDate: (record.submittedAt ?? record.scheduledAt ?? timeOfId(record.id)).toISOString(),
    scheduledDate: record.scheduledAt && formatScheduledDate(record.scheduledAt),
    deliveryDate: final && record.doneAt ? record.doneAt.toISOString() : null,
    parts: record.parts,
    price: amountFor(reader, record.costMicros),
    campaignId: record.campaignId,
    purpose: record.purpose,
    ...givenOf(record),
    possibleDuplicate: record.possibleDuplicate ?? false,
    errorCode: record.errorCode,
    errorMessage: record.errorText,
  };
}

function stageOf({ submittedAt, isScheduled }: MessageRecord, final: boolean): StatusRecord['stage'] {
  if (final) return 'FINAL';
  if (submittedAt !== null) return 'SUBMITTED';
  return isScheduled ? 'SCHEDULED' : 'QUEUED';
}

const SIMPLE: Partial<Record<StatusName, SimpleStatus['status']>> = {
  ACCEPTED: 'SENT',
  DELIVERED: 'DELIVERED',
  EXPIRED: 'EXPIRED',
  UNKNOWN: 'UNKNOWN',
};

/** Returns the status of a message on any channel; before its first outcome it counts as ACCEPTED. */
const plainStatusOf = ({ status }: MessageRecord): StatusName => nameOfStatus(status ?? STATUS.ACCEPTED);

const reachedAt = ({ id, doneAt, updatedAt }: MessageRecord): string =>
  (doneAt ?? updatedAt ?? timeOfId(id)).toISOString();

/** Returns the status of a message in the short form, where all failures but EXPIRED are ERROR. */
export function toSimpleStatus(record: MessageRecord): SimpleStatus {
  return {
    messageId: record.id,
    customerMessageId: record.clientId,
    status: SIMPLE[plainStatusOf(record)] ?? 'ERROR',
    channel: record.channel,
    timestamp: reachedAt(record),
  };
}

/**
 * Finds the status of a message by our id, as its network names it. Undefined when that channel has no such message.
 */
export async function findNetworkStatus(
  pool: Db,
  actor: { readonly accountId: number },
  { id, channel }: { readonly id: string; readonly channel: Channel },
): Promise<NetworkStatus | undefined> {
  const [record] = await findRecords(pool, actor, { ids: [id], clientIds: [] });
  if (record?.channel !== channel) return undefined;
  const held = record.status === STATUS.ACCEPTED ? await findHold(pool, { ...actor, id: record.id }) : undefined;
  return held === undefined ? toNetworkStatus(record) : { ...toNetworkStatus(record), status: 'RECEIVED' };
}

/** Returns the status of a message as its network names it, the time of that status, and the error if there is one. */
export function toNetworkStatus(record: MessageRecord): NetworkStatus {
  const name = plainStatusOf(record);
  const status = SIMPLE[name] ?? 'ERROR';
  const failed = status === 'ERROR' || status === 'EXPIRED';
  return {
    messageId: record.id,
    status: record.readAt ? 'READ' : status,
    timestamp: record.readAt?.toISOString() ?? reachedAt(record),
    error: failed ? (record.errorText ?? describeStatus(name)) : null,
  };
}

const RECORD = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  sender: as<string>('m.sender'),
  /** The requested sender, if it was replaced. */
  askedSender: as<string | null>('m.asked_sender'),
  parts: as<number>('m.parts'),
  /** Its cost: 0 once its price was returned. */
  costMicros: as<number>('CASE WHEN s.credit_returned THEN 0 ELSE m.price_micros END'),
  campaignId: as<number | null>('m.campaign_id'),
  purpose: as<Purpose | null>('m.purpose'),
  clientData: as<ClientData | null>('m.client_data'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  /** True if its scheduled time is in the future. */
  isScheduled: as<boolean>('coalesce(m.scheduled_at > now(), false)'),
  /** Null before the first outcome; so are the fields below, which come from `message_state`. */
  possibleDuplicate: as<boolean | null>('s.possible_duplicate'),
  status: as<number | null>('s.status'),
  submittedAt: as<Date | null>('s.submitted_at'),
  doneAt: as<Date | null>('s.done_at'),
  updatedAt: as<Date | null>('s.updated_at'),
  readAt: as<Date | null>('s.read_at'),
  errorCode: as<string | null>('s.error_code'),
  errorText: as<string | null>('s.error_text'),
});
/** A message with its current state. */
export type MessageRecord = RowOf<typeof RECORD>;

/**
 * Lists messages of one account by our ids. The ids are in lower case; unknown ones and those of other accounts are
 * omitted.
 *
 * Both tables are limited to the ids, so that only the partitions of their days are planned. For the states a range
 * does it: a list would invite PostgreSQL to read their BRIN index once for each id. On a day with 1,000,000 messages
 * that took 3 s for 1,000 ids; by the key it takes 35 ms.
 */
export async function listRecordsById(
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageRecord[]> {
  const sorted = ids.toSorted();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined) return [];
  return many(
    db,
    sql`SELECT ${RECORD} FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id BETWEEN ${first} AND ${last}
        WHERE m.account_id = ${accountId} AND m.id = ANY(${plainArray(ids)}::uuid[])`,
  );
}

/**
 * Lists the newest message of one account under each of these client ids: in a send with fallbacks, the last one made.
 */
export async function listMessageIdsByClientId(
  db: Db,
  { accountId, clientIds }: { accountId: number; clientIds: readonly string[] },
): Promise<{ clientId: string; messageId: string }[]> {
  return many(
    db,
    sql`SELECT client_id AS "clientId", coalesce(newest_id, message_id) AS "messageId" FROM client_message_id
        WHERE account_id = ${accountId} AND client_id = ANY(${textArray(clientIds)}::text[])`,
  );
}

/**
 * Finds the network's reason for holding a message back; undefined when it does not hold it, or has sent it in the
 * meantime.
 */
async function findHold(db: Db, { accountId, id }: OneMessage): Promise<string | undefined> {
  const row = await maybeOne<{ text: string }>(
    db,
    sql`SELECT h.text FROM message_event h
        WHERE h.account_id = ${accountId} AND h.message_id = ${id} AND h.kind = 'held' AND NOT EXISTS (
          SELECT FROM message_event r
          WHERE r.account_id = ${accountId} AND r.message_id = ${id} AND r.kind = 'receipt'
            AND r.details->>'status' = ${String(STATUS.ACCEPTED)})`,
  );
  return row?.text;
}

const MESSAGE_HISTORY = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  simulation: as<boolean>('m.simulation'),
  clientData: as<ClientData | null>('m.client_data'),
  sender: as<string>('m.sender'),
  /** The requested sender, if it was replaced. */
  askedSender: as<string | null>('m.asked_sender'),
  parts: as<number>('m.parts'),
  priceMicros: as<number>('m.price_micros'),
  refundUndelivered: as<boolean>('m.refund_undelivered'),
  keepsReserve: as<boolean>('m.keeps_reserve'),
  currency: as<string | null>('b.currency'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  keyId: as<number | null>('m.api_key_id'),
  keyName: as<string | null>('k.name'),
  userId: as<number | null>('m.user_id'),
  username: as<string | null>('p.username'),
  credentialId: as<number | null>('m.smpp_credential_id'),
  /** The system_id of that credential, unless it was deleted. */
  systemId: as<string | null>('smpp.system_id'),
  queuedOn: as<string | null>('queue.name'),
  /** Reason for that connection, where it did not follow from the prefix alone. */
  routeReason: as<string | null>('m.route_reason'),
  status: as<number | null>('s.status'),
  attempts: as<number | null>('s.attempts'),
  /** The connection of the last attempt. */
  connection: as<string | null>('c.name'),
  carrierId: as<string | null>('s.carrier_id'),
  submittedAt: as<Date | null>('s.submitted_at'),
  doneAt: as<Date | null>('s.done_at'),
  updatedAt: as<Date | null>('s.updated_at'),
  readAt: as<Date | null>('s.read_at'),
  errorCode: as<string | null>('s.error_code'),
  errorText: as<string | null>('s.error_text'),
  /** True if its price went back to the account, or to the reserve of its campaign. */
  creditReturned: as<boolean>('coalesce(s.credit_returned, false)'),
  receiptText: as<string | null>('s.receipt_text'),
});
/** All parts of a message's history that its own rows hold. */
export type MessageHistory = RowOf<typeof MESSAGE_HISTORY>;

type OneMessage = { accountId: number; id: string };

/** Finds the parts of a message's history that its own rows hold. */
export const findHistory = (db: Db, { accountId, id }: OneMessage): Promise<MessageHistory | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${MESSAGE_HISTORY}
        FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id = ${id}
        LEFT JOIN credit_balance b ON b.account_id = m.account_id
        LEFT JOIN api_key k ON k.id = m.api_key_id
        LEFT JOIN app_user p ON p.id = m.user_id
        LEFT JOIN smpp_credential smpp ON smpp.account_id = m.account_id AND smpp.id = m.smpp_credential_id
        LEFT JOIN connection queue ON queue.id = m.connection_id
        LEFT JOIN connection c ON c.id = s.connection_id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );

const PART_HISTORY = columns({
  part: as<number>('p.part'),
  carrierId: as<string>('p.carrier_id'),
  connection: as<string | null>('c.name'),
  status: as<number>('p.status'),
  doneAt: as<Date | null>('p.done_at'),
  receiptText: as<string | null>('p.receipt_text'),
});
/** A part of a long message that a carrier accepted. */
export type PartHistory = RowOf<typeof PART_HISTORY>;

/** Lists the parts of a long message that a carrier accepted, in order. */
export const listPartHistory = (db: Db, { accountId, id }: OneMessage): Promise<PartHistory[]> =>
  many(
    db,
    sql`SELECT ${PART_HISTORY}
        FROM message_part p LEFT JOIN connection c ON c.id = p.connection_id
        WHERE p.account_id = ${accountId} AND p.message_id = ${id} ORDER BY p.part`,
  );

import { Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { isFinal, nameOfStatus } from '../core/message-state.ts';
import { type AmountReader, fromMicros, seesAmounts } from '../core/money.ts';
import { type Delivery, listDeliveriesOf } from '../webhooks/delivery-log.ts';
import { listEvents, type MessageEvent } from './events.ts';
import * as schema from './status.ts';
import {
  findHistory,
  findNetworkStatus,
  findRecord,
  findRecords,
  givenOf,
  listPartHistory,
  type MessageHistory,
  type PartHistory,
  type Timeline,
  type TimelineEvent,
  toSimpleStatus,
  toStatusRecord,
} from './status.ts';

const MESSAGES = '/api/partner-gateway/v1/messages';
const STATUS = `${MESSAGES}/status`;
const SIMPLE = '/api/messages/status';
const NETWORKS = [
  { channel: 'WHATSAPP', path: 'whatsapp', operationId: 'findWhatsappStatus', name: 'WhatsApp' },
  { channel: 'RCS', path: 'rcs', operationId: 'findRcsStatus', name: 'RCS' },
] as const;
const MAX_IDS = 1000;

export function trackingRoutes(app: App, { pool }: PlatformDeps): void {
  const mayTrack = requireScope('tracking');

  app.get(`${STATUS}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findMessageStatus',
      summary: 'Get the status of one message by your id or ours',
      params: schema.StatusParams,
      querystring: schema.StatusQuery,
      response: { 200: schema.StatusRecord },
    },
    handler: async ({ actor, params, query }) => {
      const record = await findRecord(tenant(pool, actor), actor, params.customerMessageId);
      if (!record || (query.channel && record.channel !== query.channel)) throw new AppError('not_found');
      return toStatusRecord(record, actor);
    },
  });

  app.get(STATUS, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageStatuses',
      summary: 'Get the statuses of up to 1,000 messages',
      description: 'Unknown ids are omitted.',
      querystring: schema.StatusListQuery,
      response: { 200: Type.Array(schema.StatusRecord) },
    },
    handler: async ({ actor, query }) => {
      const wanted = { ids: idsOf('ids', query.ids), clientIds: idsOf('customerMessageIds', query.customerMessageIds) };
      if (wanted.ids.length + wanted.clientIds.length === 0)
        throw invalidFields([{ field: 'customerMessageIds', message: 'is required (or ids)' }]);
      const records = await findRecords(tenant(pool, actor), actor, wanted);
      return records.map((record) => toStatusRecord(record, actor));
    },
  });

  app.get(`${SIMPLE}/:customerMessageId`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findSimpleMessageStatus',
      summary: 'Get the status of one message in short form',
      params: schema.StatusParams,
      response: { 200: schema.SimpleStatus },
    },
    handler: async ({ actor, params }) => {
      return toSimpleStatus(await existing(findRecord(tenant(pool, actor), actor, params.customerMessageId)));
    },
  });

  for (const { channel, path, operationId, name } of NETWORKS)
    app.get(`/api/partner-gateway/v1/${path}/messages/:messageId`, {
      onRequest: mayTrack,
      schema: {
        tags: ['Tracking'],
        operationId,
        summary: `Get the status of one ${name} message by our id`,
        description: '404 for a message on another channel.',
        params: schema.NetworkParams,
        response: { 200: schema.NetworkStatus },
      },
      handler: async ({ actor, params }) => {
        return existing(findNetworkStatus(tenant(pool, actor), actor, { id: params.messageId, channel }));
      },
    });

  app.get(`${MESSAGES}/:messageId/timeline`, {
    onRequest: mayTrack,
    schema: {
      tags: ['Tracking'],
      operationId: 'findMessageTimeline',
      summary: 'Get the timeline of one message',
      description:
        'Everything that happened to the message: its price, every attempt, every receipt in the words of the carrier, and ' +
        'its final state. Amounts are omitted without the scope `money`.',
      params: schema.TimelineParams,
      response: { 200: schema.Timeline },
    },
    handler: async ({ actor, params }) => {
      return existing(findTimeline(tenant(pool, actor), actor, params.messageId));
    },
  });
}

/** Reads a list of ids. A client's id may itself contain commas, so every value is tried as one id too. */
function idsOf(field: string, lists: string | readonly string[] = []): string[] {
  const values = [lists].flat().map((list) => list.trim());
  const ids = values
    .flatMap((list) => list.split(','))
    .map((id) => id.trim())
    .filter((id) => id !== '');
  if (ids.length > MAX_IDS) throw invalidFields([{ field, message: `must name at most ${MAX_IDS} ids` }]);
  return ids.length === 0 ? [] : [...new Set([...ids, ...values])];
}

/**
 * Finds everything that happened to one message of the account, by our id or the client's. Most of it follows from the
 * message and its state by the rules of the ledger; the rest was stored as events. Amounts are omitted for a caller who
 * may not see them. Undefined when the account has no such message.
 */
export async function findTimeline(
  pool: Db,
  actor: Pick<Actor, 'accountId' | 'operations'>,
  anyId: string,
): Promise<Timeline | undefined> {
  const record = await findRecord(pool, actor, anyId);
  if (!record) return undefined;
  const { accountId } = actor;
  const { id } = record;
  const [history, parts, events, deliveries] = await Promise.all([
    findHistory(pool, { accountId, id }),
    listPartHistory(pool, { accountId, id }),
    listEvents(pool, { accountId, messageId: id }),
    listDeliveriesOf(pool, { accountId, messageId: id, firstId: firstIdAt(timeOfId(id)) }),
  ]);
  return history && withAmountsFor(actor, toTimeline(history, parts, events, deliveries));
}

const withAmountsFor = (actor: AmountReader, timeline: Timeline): Timeline =>
  seesAmounts(actor)
    ? timeline
    : { ...timeline, events: timeline.events.map(({ amount: _amount, currency: _currency, ...event }) => event) };

/** An event with its time as a date, to sort by. */
type Entry = Omit<TimelineEvent, 'at'> & { readonly at: Date };

/** The order of events that happened at the same instant: causes come first. */
const CAUSES_FIRST: readonly TimelineEvent['kind'][] = [
  'ATTEMPT',
  'HELD',
  'RECEIPT',
  'CANCELLED',
  'SETTLED',
  'RELEASED',
  'REVOKE',
  'FINAL',
  'READ',
  'CREDIT',
  'FALLBACK',
  'WEBHOOK',
];

function toTimeline(
  history: MessageHistory,
  parts: readonly PartHistory[],
  events: readonly MessageEvent[],
  deliveries: readonly Delivery[],
): Timeline {
  const later = [
    ...events.map(toEntry),
    ...acceptedAttempt(history, parts, events),
    ...countedReceipts(history, parts),
    ...finalState(history),
    ...readByPerson(history),
    ...creditMove(history, events),
    ...deliveries.flatMap(webhookAttempts),
  ].sort((a, b) => a.at.getTime() - b.at.getTime() || CAUSES_FIRST.indexOf(a.kind) - CAUSES_FIRST.indexOf(b.kind));
  return {
    messageId: history.id,
    customerMessageId: history.clientId,
    channel: history.channel,
    ...givenOf(history),
    events: [...beginning(history), ...later].map((entry) => ({ ...entry, at: entry.at.toISOString() })),
  };
}

/**
 * Returns the first events. They precede the others whatever the clocks say: ids come from the program's clock, the
 * rest from the database's.
 */
function beginning(history: MessageHistory): Entry[] {
  const { scheduledAt, queuedOn, routeReason, simulation } = history;
  const at = timeOfId(history.id);
  const entry = (kind: Entry['kind'], text: string): Entry => ({ at, kind, connection: null, text });
  const start = [entry('ACCEPTED', acceptedBy(history)), { ...entry('PRICED', priceOf(history)), ...moneyOf(history) }];
  if (simulation) return start;
  const because = routeReason === null ? '' : `; ${routeReason}`;
  const queued = { ...entry('QUEUED', `waiting in the queue${because}`), connection: queuedOn };
  return scheduledAt === null
    ? [...start, queued]
    : [...start, { ...queued, kind: 'SCHEDULED', text: `not before ${scheduledAt.toISOString()}${because}` }];
}

function acceptedBy(history: MessageHistory): string {
  const { simulation, sender, askedSender } = history;
  const what = simulation ? 'simulation: it goes to no carrier; ' : '';
  const replaced = askedSender === null ? '' : `; sender ${sender} instead of ${askedSender}`;
  return `${what}${whoAsked(history)}${replaced}`;
}

function whoAsked({ keyId, keyName, credentialId, systemId, userId, username }: MessageHistory): string {
  if (keyId !== null) return `by API key ${keyId}${keyName ? ` (${keyName})` : ''}`;
  if (credentialId !== null) return `by SMPP credential ${credentialId}${systemId ? ` (${systemId})` : ''}`;
  return userId === null ? 'by the program' : `by user ${username ?? userId}`;
}

const moneyOf = ({ parts, priceMicros, currency }: MessageHistory) => ({
  parts,
  amount: fromMicros(priceMicros),
  ...(currency === null ? {} : { currency }),
});

function priceOf({ priceMicros, refundUndelivered }: MessageHistory): string {
  if (priceMicros === 0) return 'free';
  return refundUndelivered
    ? 'reserved; returned if it is not delivered'
    : 'reserved; charged when a carrier accepts it';
}

const KINDS: Readonly<Record<MessageEvent['kind'], Entry['kind']>> = {
  attempt: 'ATTEMPT',
  receipt: 'RECEIPT',
  replaced: 'FINAL',
  cancelled: 'CANCELLED',
  settled: 'SETTLED',
  released: 'RELEASED',
  fallback: 'FALLBACK',
  held: 'HELD',
  revoke: 'REVOKE',
};

function toEntry({ at, kind, connection, text, details }: MessageEvent): Entry {
  const { status, carrierIds, ...others } = details;
  return {
    at,
    kind: KINDS[kind],
    connection,
    text,
    ...others,
    ...(carrierIds === undefined ? {} : { carrierIds: [...carrierIds] }),
    ...(status === undefined ? {} : { status: nameOfStatus(status) }),
  };
}

/** Returns the attempt that a carrier accepted, which is in the state and not among the events. */
function acceptedAttempt(
  history: MessageHistory,
  parts: readonly PartHistory[],
  events: readonly MessageEvent[],
): Entry[] {
  const { submittedAt, attempts, connection, carrierId } = history;
  if (submittedAt === null || attempts === null || !wasAccepted(history, events)) return [];
  const carrierIds = carrierId === null ? parts.map((part) => part.carrierId) : [carrierId];
  return [
    { at: submittedAt, kind: 'ATTEMPT', connection, text: null, attempt: attempts, outcome: 'ACCEPTED', carrierIds },
  ];
}

/**
 * True if the attempt in the state was accepted: it was unless an event of the same time records that it never got
 * a response.
 */
function wasAccepted({ submittedAt, simulation }: MessageHistory, events: readonly MessageEvent[]): boolean {
  if (submittedAt === null || simulation) return false;
  return !events.some(
    ({ kind, details, at }) =>
      kind === 'attempt' && details.outcome === 'UNKNOWN' && at.getTime() === submittedAt.getTime(),
  );
}

function countedReceipts(history: MessageHistory, parts: readonly PartHistory[]): Entry[] {
  const { status, updatedAt, doneAt, connection, receiptText, errorCode, submittedAt } = history;
  const ofParts = parts.flatMap((part): Entry[] => {
    if (part.receiptText === null || part.doneAt === null) return [];
    // Carriers give only the minute, which may lie before the submit.
    const at = submittedAt !== null && part.doneAt < submittedAt ? submittedAt : part.doneAt;
    return [receipt({ ...part, at })];
  });
  if (receiptText === null || ofParts.length > 0 || status === null || updatedAt === null) return ofParts;
  const code = errorCode === null ? {} : { code: errorCode };
  return [{ ...receipt({ at: updatedAt, status, doneAt, connection, receiptText, part: null }), ...code }];
}

type ReceiptFacts = Pick<PartHistory, 'connection' | 'status' | 'doneAt' | 'receiptText'> & {
  readonly at: Date;
  readonly part: number | null;
};

const receipt = ({ at, connection, receiptText, status, part, doneAt }: ReceiptFacts): Entry => ({
  at,
  kind: 'RECEIPT',
  connection,
  text: receiptText,
  status: nameOfStatus(status),
  ...(part === null ? {} : { part }),
  ...(doneAt === null ? {} : { doneAt: doneAt.toISOString() }),
});

function finalState({ status, updatedAt, doneAt, receiptText, errorText, errorCode }: MessageHistory): Entry[] {
  if (status === null || updatedAt === null || !isFinal(status)) return [];
  return [
    {
      at: updatedAt,
      kind: 'FINAL',
      connection: null,
      text: receiptText === null ? errorText : null,
      status: nameOfStatus(status),
      ...(errorCode === null ? {} : { code: errorCode }),
      ...(doneAt === null ? {} : { doneAt: doneAt.toISOString() }),
    },
  ];
}

const readByPerson = ({ readAt, connection }: MessageHistory): Entry[] =>
  readAt === null ? [] : [{ at: readAt, kind: 'READ', connection, text: null }];

/**
 * Returns the event of charging or returning the frozen price, by the rules of
 * src/messages/settle.ts and end.ts.
 */
function creditMove(history: MessageHistory, events: readonly MessageEvent[]): Entry[] {
  const { priceMicros, refundUndelivered, submittedAt } = history;
  if (priceMicros === 0) return [];
  if (submittedAt !== null && !refundUndelivered && wasAccepted(history, events))
    return [credit(history, submittedAt, true)];
  const at = firstEndAt(history, events);
  return at === null ? [] : [credit(history, at, !history.creditReturned)];
}

/**
 * Returns the time of the first final state. A report of the carrier may have replaced one of ours, but credit moves
 * only once.
 */
function firstEndAt({ status, updatedAt }: MessageHistory, events: readonly MessageEvent[]): Date | null {
  const replaced = events.find(({ kind }) => kind === 'replaced');
  return replaced ? replaced.at : status !== null && isFinal(status) ? updatedAt : null;
}

const credit = (history: MessageHistory, at: Date, charged: boolean): Entry => ({
  at,
  kind: 'CREDIT',
  connection: null,
  text: charged ? 'charged' : history.keepsReserve ? 'left to its campaign, which returns it' : 'returned',
  ...moneyOf(history),
});

/** Returns the attempts to deliver an event of the message to the webhook, and the responses. */
function webhookAttempts({ kind, status, state, failures, responseCode, ...last }: Delivery): Entry[] {
  const entry = (at: Date, attempt: number, text: string): Entry => ({
    at,
    kind: 'WEBHOOK',
    connection: null,
    attempt,
    text: `${kind}: ${text}`,
    ...(status === null ? {} : { status: nameOfStatus(status) }),
  });
  const failed = failures.map(({ at, code, reason, ms }, i) =>
    entry(new Date(at), i + 1, `${reason ?? `answered ${code}`}, after ${ms} ms`),
  );
  if (state !== 'DELIVERED') return failed;
  const acknowledged = `acknowledged with ${responseCode} after ${last.durationMs} ms`;
  return [...failed, entry(last.updatedAt, failures.length + 1, acknowledged)];
}

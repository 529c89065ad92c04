import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import type { Channel } from '../core/channels.ts';
import { as, columns, constant, type Db, join, many, maybeOne, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, pageFields } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { AGE_OF_REPORT, readReport } from '../core/http/errors.ts';
import { isUuid, timeOfId } from '../core/ids.ts';
import { STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { channelName, id, instant, orNull } from '../core/schema.ts';
import { DAY_MS, instantField, MINUTE_MS } from '../core/time.ts';
import {
  listRecordsById,
  type MessageRecord,
  StatusRecord,
  showsAccepted,
  toStatusRecord,
} from '../messages/status.ts';
import { createHistoryReader, idRangeOf, readTimes } from './history.ts';

const RECENT_MS = 5 * MINUTE_MS;

const HistoryQuery = Type.Object({
  ...pageFields,
  channel: channelName(),
  from: instantField('The earliest time of acceptance.'),
  to: instantField('The latest time of acceptance, inclusive.'),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As in `deliveryStatus`.' })),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20, description: 'Entries per page.' }),
});

/** Registers the routes that list and search messages. */
export function historyRoutes(app: App, { pool, reports, clock }: PlatformDeps): void {
  const readHistory = createHistoryReader();

  app.get('/api/partner-gateway/v1/messages/history', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageHistory',
      summary: 'List the messages of a channel in a time range, newest first',
      description:
        'The range is the time of acceptance. With `from` after `to` the list is empty. A range that ended within the last ' +
        `five minutes is always up to date. ${AGE_OF_REPORT}`,
      querystring: HistoryQuery,
      response: { 200: Type.Array(StatusRecord) },
    },
    handler: async ({ actor, query }, reply) => {
      const { from, to } = query;
      const now = clock.now();
      const page = { ...query, ...readTimes({ from, to }) };
      const read = (db: Db) => readHistory(db, actor, page, now);
      // A caller that requests the last minutes wants to see what was just sent.
      const isPast = page.to.getTime() < now.getTime() - RECENT_MS;
      const records = await (isPast ? readReport({ reports, actor, reply }, read) : read(tenant(pool, actor)));
      return records.map((record) => toStatusRecord(record, actor));
    },
  });

  app.get('/api/partner-gateway/v1/messages', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'searchMessages',
      summary: 'Search the messages of all channels, newest first',
      description:
        'Each response covers a limited number of messages: with filters that rarely match, `data` may be short or empty ' +
        'although `next` is set. `searchedTo` is the time back to which it has searched.',
      querystring: SearchQuery,
      response: { 200: SearchOut },
    },
    handler: ({ actor, query }) => searchMessages(tenant(pool, actor), actor, query, clock.now()),
  });
}

const SOURCES = ['API', 'CAMPAIGN', 'INBOX'] as const;

const SearchQuery = Type.Object({
  channel: Type.Optional(channelName()),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As in `deliveryStatus`.' })),
  destination: Type.Optional(
    Type.String({
      pattern: '^[+0-9 ().\\-/]{1,30}$',
      'x-message': 'must be digits of a number, at most 30 characters',
      description: 'Consecutive digits of the number.',
    }),
  ),
  sender: Type.Optional(Type.String({ maxLength: 128, description: 'The exact sender.' })),
  campaignId: Type.Optional(id()),
  source: Type.Optional(Type.Enum([...SOURCES], { type: 'string', description: 'The source of the message.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Our id of a message, which overrides all other filters; or your reference; or digits of the number.',
    }),
  ),
  from: Type.Optional(instantField('The earliest time of acceptance. Default: seven days before `to`.')),
  to: Type.Optional(instantField('The latest time of acceptance, inclusive. Default: now.')),
  before: Type.Optional(Type.String({ format: 'uuid', description: '`next` of the previous response.' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'The maximum number of messages.' }),
});
type SearchQuery = Static<typeof SearchQuery>;

const SearchOut = Type.Object({
  data: Type.Array(
    Type.Object({
      ...StatusRecord.properties,
      acceptedAt: instant('UTC'),
      readAt: orNull(instant('Time at which the person read the message, in UTC, if known.')),
      source: Type.Enum([...SOURCES], { type: 'string' }),
      simulation: Type.Boolean(),
      text: Type.String({ description: 'Empty for templates and files that a campaign sent.' }),
    }),
    { description: 'Newest first.' },
  ),
  next: orNull(Type.String({ description: 'The value of `before` that continues the search; null at its end.' })),
  searchedTo: instant('Time back to which this response has searched.'),
});
type SearchOut = Static<typeof SearchOut>;

const WEEK_MS = 7 * DAY_MS;
/** Number of messages that one call examines. With the status, each message takes a second lookup. */
const MAX_SCANNED = 50_000;
const MAX_SCANNED_WITH_STATUS = 10_000;

type Of = Pick<Actor, 'accountId' | 'operations'>;
type Times = { readonly from: Date; readonly to: Date };

/**
 * Searches the messages of all channels, newest first. Each call examines a limited part of the range, so that none is
 * slow, and returns the point at which the next one continues. Errors: 400 for dates that do not exist.
 */
async function searchMessages(db: Db, actor: Of, query: SearchQuery, now: Date): Promise<SearchOut> {
  const { accountId } = actor;
  const times = rangeOf(query, now);
  if (query.q !== undefined && isUuid(query.q.trim()))
    return {
      data: await recordsOf(db, actor, [query.q.trim().toLowerCase()]),
      next: null,
      searchedTo: iso(times.from),
    };
  const filter = toFilter(accountId, query, times);
  if (filter.firstId >= filter.endId) return { data: [], next: null, searchedTo: iso(times.from) };
  const scan = query.status === undefined ? MAX_SCANNED : MAX_SCANNED_WITH_STATUS;
  const ids = await listFoundIds(db, { ...filter, scan, limit: query.limit });
  const full = ids.length === query.limit;
  const next = (full ? ids.at(-1) : await findScanEnd(db, { ...filter, scan })) ?? null;
  const searchedTo = next === null ? times.from : timeOfId(next);
  return { data: await recordsOf(db, actor, ids), next, searchedTo: iso(searchedTo) };
}

const iso = (date: Date): string => date.toISOString();

function rangeOf({ from, to }: SearchQuery, now: Date): Times {
  const times = readTimes({ from: from ?? iso(now), to: to ?? iso(now) });
  return from === undefined ? { ...times, from: new Date(times.to.getTime() - WEEK_MS) } : times;
}

function toFilter(accountId: number, query: SearchQuery, { from, to }: Times): SearchFilter {
  const { channel, status, destination, sender, campaignId, source, q, before } = query;
  const { firstId, endId } = idRangeOf(from, to);
  const until = before !== undefined && before.toLowerCase() < endId ? before.toLowerCase() : endId;
  return {
    accountId,
    firstId,
    endId: until,
    channel,
    status,
    sender,
    campaignId,
    source,
    ...(destination !== undefined && { digits: digitsOf(destination) }),
    ...(q !== undefined && { term: { reference: q.trim(), digits: digitsInNumber(q) } }),
  };
}

const digitsOf = (text: string): string => text.replace(/\D/g, '').replace(/^00/, '');

const NUMBER = /^[+0-9 ().\-/]{3,30}$/;
const digitsInNumber = (term: string): string | null => (NUMBER.test(term.trim()) ? digitsOf(term) || null : null);

async function recordsOf(db: Db, actor: Of, ids: readonly string[]): Promise<SearchOut['data']> {
  const { accountId } = actor;
  if (ids.length === 0) return [];
  const [records, texts] = [await listRecordsById(db, { accountId, ids }), await listTexts(db, { accountId, ids })];
  const textOf = new Map(texts.map((text) => [text.id, text]));
  // Ids sort by time.
  return records
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .flatMap((record) => toFound(record, textOf.get(record.id), actor) ?? []);
}

const toFound = (
  record: MessageRecord,
  text: MessageText | undefined,
  actor: Of,
): SearchOut['data'][number] | undefined =>
  text && {
    ...toStatusRecord(record, actor),
    acceptedAt: iso(timeOfId(record.id)),
    readAt: record.readAt?.toISOString() ?? null,
    source: text.source,
    simulation: text.simulation,
    text: text.body,
  };

const ACCEPTED = constant(STATUS.ACCEPTED);

/** Filter for messages; omitted fields do not restrict. */
type SearchFilter = {
  readonly accountId: number;
  /** The first id of the time range. */
  readonly firstId: string;
  /** The end of the time range, exclusive. */
  readonly endId: string;
  readonly channel?: Channel | undefined;
  readonly status?: StatusName | undefined;
  readonly digits?: string | undefined;
  readonly sender?: string | undefined;
  readonly campaignId?: number | undefined;
  readonly source?: string | undefined;
  /** The client's reference or, unless `digits` is null, digits of the number. */
  readonly term?: { readonly reference: string; readonly digits: string | null } | undefined;
};

/** Selects columns of the messages `m` of a range, newest first. */
const newestOf = ({ accountId, firstId, endId }: SearchFilter, selected: Sql): Sql => sql`
  SELECT ${selected} FROM message m
  WHERE m.account_id = ${accountId} AND m.id >= ${firstId} AND m.id < ${endId} ORDER BY m.id DESC`;

/**
 * Lists the ids of the messages that match, newest first, among the newest `scan` messages of the range. No index
 * serves these filters, because each index would make every message that is sent more expensive. 50,000 messages take
 * about 100 ms, as do 10,000 with their states.
 */
export async function listFoundIds(
  db: Db,
  { scan, limit, ...filter }: SearchFilter & { scan: number; limit: number },
): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT m.id FROM (
          ${newestOf(filter, sql`m.id, m.channel, m.destination, m.sender, m.client_id, m.campaign_id, m.source`)}
          LIMIT ${scan}) AS m
        ${filter.status === undefined ? sql`` : joinState(filter)}
        WHERE ${join(conditions(filter), ' AND ')} ORDER BY m.id DESC LIMIT ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/** Looks up one state per message: the states of the whole range are not read for the few messages at hand. */
const joinState = ({ accountId, firstId, endId }: SearchFilter): Sql => sql`
  LEFT JOIN LATERAL (
    SELECT status FROM message_state s
    WHERE s.account_id = ${accountId} AND s.id = m.id AND s.id >= ${firstId} AND s.id < ${endId} OFFSET 0) AS s ON true`;

function conditions({ channel, status, digits, sender, campaignId, source, term }: SearchFilter): Sql[] {
  return [
    sql`true`,
    ...(channel === undefined ? [] : [sql`m.channel = ${channel}`]),
    ...(status === undefined ? [] : [hasStatus(status)]),
    ...(digits === undefined ? [] : [hasDigits(digits)]),
    ...(sender === undefined ? [] : [sql`m.sender = ${sender}`]),
    ...(campaignId === undefined ? [] : [sql`m.campaign_id = ${campaignId}`]),
    ...(source === undefined ? [] : [sql`m.source = ${source}`]),
    ...(term === undefined ? [] : [hasTerm(term)]),
  ];
}

const hasDigits = (digits: string): Sql => sql`strpos(m.destination, ${digits}) > 0`;

const hasTerm = ({ reference, digits }: NonNullable<SearchFilter['term']>): Sql =>
  digits === null ? sql`m.client_id = ${reference}` : sql`(m.client_id = ${reference} OR ${hasDigits(digits)})`;

/**
 * The messages that clients see with this status (src/messages/status.ts): a queued message is ACCEPTED on
 * SMS and UNKNOWN elsewhere.
 */
function hasStatus(status: StatusName): Sql {
  const code = constant(STATUS[status]);
  const open = sql`coalesce(s.status, ${ACCEPTED})`;
  if (status === 'ACCEPTED') return sql`${showsAccepted(sql`m.channel`)} AND ${open} = ${code}`;
  if (status !== 'UNKNOWN') return sql`s.status = ${code}`;
  return sql`(s.status = ${code} OR NOT ${showsAccepted(sql`m.channel`)} AND ${open} = ${ACCEPTED})`;
}

/** Finds the id of the last among the newest `scan` messages of a range; undefined when there are fewer. */
export async function findScanEnd(
  db: Db,
  { scan, ...filter }: SearchFilter & { scan: number },
): Promise<string | undefined> {
  const row = await maybeOne<{ id: string }>(db, sql`${newestOf(filter, sql`m.id`)} LIMIT 1 OFFSET ${scan - 1}`);
  return row?.id;
}

const MESSAGE_TEXT = columns({
  id: as<string>('id'),
  source: as<'API' | 'CAMPAIGN' | 'INBOX'>('source'),
  simulation: as<boolean>('simulation'),
  body: as<string>('body'),
});
type MessageText = RowOf<typeof MESSAGE_TEXT>;

const listTexts = (db: Db, { accountId, ids }: { accountId: number; ids: readonly string[] }): Promise<MessageText[]> =>
  many(db, sql`SELECT ${MESSAGE_TEXT} FROM message WHERE account_id = ${accountId} AND id = ANY(${[...ids]}::uuid[])`);

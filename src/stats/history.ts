import { bitOf, CHANNEL, type Channel } from '../core/channels.ts';
import { type Db, join, many, maybeOne, one, type Sql, sql } from '../core/db/query.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { createGrowingCache } from '../core/limits.ts';
import { STATUS, type StatusName } from '../core/message-state.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, parseInstant } from '../core/time.ts';
import { listRecordsById, type MessageRecord } from '../messages/status.ts';

/** Ninety days of one channel are 2,160 hours. */
const MAX_CACHED_HOURS = 100_000;

/** Start of a page: among the messages before `endId`, newest first, after the first `offset` of them. */
type PageStart = { readonly endId: string; readonly offset: number };

/**
 * Creates a function that finds the start of a page behind many messages without reading these. The messages of a past
 * hour never change, so they are counted once (a day in one statement), and from then on the hour is skipped.
 *
 * Its parameter `settled` is the instant before which no message can appear any more.
 */
export function createStartFinder() {
  const counts = createGrowingCache<number>(MAX_CACHED_HOURS);

  /** Counts the messages of each hour in [from, to), oldest first. */
  async function countHours(
    db: Db,
    { accountId, channel }: HistoryFilter,
    from: number,
    to: number,
  ): Promise<number[]> {
    const hours = Array.from({ length: (to - from) / HOUR_MS }, (_, n) => from + n * HOUR_MS);
    const keyOf = (hour: number): string => `${accountId} ${channel} ${hour / HOUR_MS}`;
    const known = hours.map((hour) => counts.get(keyOf(hour)));
    if (!known.includes(undefined)) return known as number[];
    const bounds = [...hours, to].map(idAt);
    const counted = await countPerRange(db, { accountId, channel, bounds });
    for (const [n, hour] of hours.entries()) counts.set(keyOf(hour), counted[n] ?? 0);
    return counted;
  }

  return async (db: Db, filter: HistoryFilter, offset: number, settled: Date): Promise<PageStart> => {
    const unchanged = { endId: filter.endId, offset };
    const firstId = await findFirstId(db, filter);
    const hours = firstId === undefined ? null : wholeHours(firstId, filter.endId, settled);
    if (hours === null) return unchanged;
    let end = hours.end;
    let left = offset - (await countFrom(db, filter, end));
    if (left < 0) return unchanged;
    while (end > hours.first) {
      const from = Math.max(hours.first, Math.floor((end - 1) / DAY_MS) * DAY_MS);
      for (const count of (await countHours(db, filter, from, end)).toReversed()) {
        if (left < count) return { endId: idAt(end), offset: left };
        left -= count;
        end -= HOUR_MS;
      }
    }
    return { endId: idAt(end), offset: left };
  };
}

const idAt = (ms: number): string => firstIdAt(new Date(ms));

/** The settled hours that lie entirely within a range of ids; null when there are none. */
function wholeHours(firstId: string, endId: string, settled: Date): { first: number; end: number } | null {
  const first = Math.ceil(timeOfId(firstId).getTime() / HOUR_MS) * HOUR_MS;
  const last = Math.min(timeOfId(endId).getTime(), settled.getTime());
  const end = Math.floor(last / HOUR_MS) * HOUR_MS;
  return end > first ? { first, end } : null;
}

/** Counts the messages from `end` on. Their number may still grow. */
async function countFrom(db: Db, filter: HistoryFilter, end: number): Promise<number> {
  const bounds = [idAt(end), filter.endId];
  const [newer = 0] = bounds[0] === bounds[1] ? [] : await countPerRange(db, { ...filter, bounds });
  return newer;
}

/**
 * Reads fields that have the form of an instant. Errors: 400 naming the fields whose date does not exist, such as
 * 30 February.
 */
export function readTimes<K extends string>(texts: Readonly<Record<K, string>>): Record<K, Date>;
export function readTimes(texts: Readonly<Record<string, string>>): Record<string, Date> {
  const faults: FieldError[] = [];
  const read = Object.entries(texts).flatMap(([field, text]) => {
    const date = parseInstant(text);
    if (date) return [[field, date] as const];
    faults.push({ field, message: 'is not a valid date' });
    return [];
  });
  if (faults.length > 0) throw invalidFields(faults);
  return Object.fromEntries(read);
}

/** Selects messages of one channel in a time range. */
export type HistoryFilter = {
  readonly accountId: number;
  readonly channel: Channel;
  /** The first id of the time range. */
  readonly firstId: string;
  /** The end of the time range, exclusive. */
  readonly endId: string;
  /** Filter by status; undefined: all messages, whatever their state. */
  readonly status?: StatusFilter | undefined;
};

type StatusFilter = {
  readonly codes: readonly number[];
  /** Inclusion of messages without a state: found through the queue or, when that is long, among the messages. */
  readonly queued: 'none' | 'in queue' | 'among messages';
};

type Part = { readonly limit: number; readonly offset: number };

/**
 * Lists ids of messages, newest first. For the days that are still written to, the primary key is read in its order
 * until there are enough ids: a skipped row costs one index step, and a row with another status must be read. For
 * a rare status, pages that do not hold it are skipped by their summaries (platform/db/summaries.ts), and past days
 * have an index (platform/db/past-day-indexes.ts).
 */
export async function listHistoryIds(db: Db, { limit, offset, ...filter }: HistoryFilter & Part): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`${matching(filter, limit + offset)} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
  return rows.map(({ id }) => id);
}

type HistoryRange = Pick<HistoryFilter, 'accountId' | 'firstId' | 'endId'>;

const within = ({ accountId, firstId, endId }: HistoryRange, table: Sql): Sql =>
  sql`${table}.account_id = ${accountId} AND ${table}.id >= ${firstId} AND ${table}.id < ${endId}`;

function matching(filter: HistoryFilter, limit: number): Sql {
  const { status } = filter;
  if (status === undefined) return ofChannel(filter);
  const newest = (of: Sql): Sql => sql`(${of} ORDER BY id DESC LIMIT ${limit})`;
  // A separate query for each kind, so that each can be read in the order of an index.
  const kinds = status.codes.map((code) => withState(filter, code));
  if (status.queued === 'in queue') kinds.push(inQueue(filter));
  if (status.queued === 'among messages') kinds.push(withoutState(filter));
  return sql`SELECT id FROM (${join(kinds.map(newest), ' UNION ALL ')}) AS kind`;
}

const ofChannel = (filter: HistoryFilter): Sql =>
  sql`SELECT m.id FROM message m WHERE ${within(filter, sql`m`)} AND m.channel = ${filter.channel}`;

/** Reads only `message_state`, whose rows are narrow. */
const withState = (filter: HistoryFilter, code: number): Sql =>
  sql`SELECT s.id FROM message_state s
      WHERE ${within(filter, sql`s`)} AND s.channel = ${bitOf(filter.channel)}::smallint AND s.status = ${code}::smallint`;

const withoutState = (filter: HistoryFilter): Sql =>
  sql`SELECT m.id FROM message m
      LEFT JOIN message_state s ON s.account_id = ${filter.accountId} AND s.id = m.id AND ${within(filter, sql`s`)}
      WHERE ${within(filter, sql`m`)} AND m.channel = ${filter.channel} AND s.id IS NULL`;

/** Looks up each queued message (`OFFSET 0`): a join would read the whole range for the few messages that wait. */
const inQueue = (filter: HistoryFilter): Sql =>
  sql`SELECT q.id
      FROM (SELECT DISTINCT w.id FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS w (id)
            WHERE c.account_id = ${filter.accountId} AND w.id >= ${filter.firstId} AND w.id < ${filter.endId}) AS q
      CROSS JOIN LATERAL (
        SELECT channel FROM message m WHERE m.id = q.id AND ${within(filter, sql`m`)} OFFSET 0) AS m
      LEFT JOIN LATERAL (
        SELECT status FROM message_state s WHERE s.id = q.id AND ${within(filter, sql`s`)} OFFSET 0) AS s ON true
      WHERE m.channel = ${filter.channel} AND s.status IS NULL`;

/** Finds the id of the first message in a range, whatever its channel. */
async function findFirstId(db: Db, filter: HistoryRange): Promise<string | undefined> {
  const row = await maybeOne<{ id: string }>(
    db,
    sql`SELECT m.id FROM message m WHERE ${within(filter, sql`m`)} ORDER BY m.id LIMIT 1`,
  );
  return row?.id;
}

/** Counts the messages of an account that wait in the queue. */
async function countQueued(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const { queued } = await one<{ queued: number }>(
    db,
    sql`SELECT coalesce(sum(size), 0)::int AS queued FROM dispatch_chunk WHERE account_id = ${accountId}`,
  );
  return queued;
}

/**
 * Counts the messages of a channel in each range between two neighbours in `bounds`, which is sorted. The lower bound
 * of a range is inclusive, the upper one exclusive.
 */
async function countPerRange(
  db: Db,
  { accountId, channel, bounds }: { accountId: number; channel: Channel; bounds: readonly string[] },
): Promise<number[]> {
  const filter = { accountId, channel, firstId: bounds[0] ?? '', endId: bounds.at(-1) ?? '' };
  const rows = await many<{ nth: number; count: number }>(
    db,
    sql`SELECT width_bucket(id, ${[...bounds]}::uuid[]) AS nth, count(*) AS count
        FROM (${ofChannel(filter)}) AS m GROUP BY nth`,
  );
  const counts = bounds.slice(1).map(() => 0);
  for (const { nth, count } of rows) counts[nth - 1] = count;
  return counts;
}

/** A page of the messages accepted from one instant to another, both inclusive. */
type HistoryQuery = {
  readonly channel: Channel;
  readonly from: Date;
  readonly to: Date;
  readonly status?: StatusName | undefined;
  readonly page: number;
  readonly limit: number;
};

type Of = { readonly accountId: number };
type Range = { readonly firstId: string; readonly endId: string };

/** A message commits after its id was made, but never later than the maximum time of a statement and a transaction. */
const SETTLED_MS = 5 * MINUTE_MS;
const MAX_PAGE_ENDS = 20_000;
/** Offset up to which reading the skipped messages takes a few milliseconds. */
const MAX_SHALLOW_OFFSET = 2000;
/** The first window of a search by status is the range divided by this. */
const WINDOWS = 32;
/** Each window reads again the pages without a summary, so there are few of them. */
const WINDOW_GROWTH = 4;
/** Dividing shorter ranges saves nothing. */
const MIN_WINDOW_MS = 10 * MINUTE_MS;
/** Number of waiting messages from which looking up each of them costs more than reading the range. */
const MAX_QUEUED_LOOKUPS = 20_000;

/**
 * Creates a function that returns pages of messages, newest first. A time range in the past always has the same
 * messages, so the end of a page is remembered: a client that reads page by page continues there without reading the
 * pages before again. A client that jumps to a deep page skips whole hours.
 */
export function createHistoryReader() {
  const pageEnds = createGrowingCache<string>(MAX_PAGE_ENDS);
  const findStart = createStartFinder();

  return async (db: Db, { accountId }: Of, query: HistoryQuery, now: Date): Promise<MessageRecord[]> => {
    const { limit, page } = query;
    const filter = await toFilter(db, accountId, query);
    if (filter === null) return [];
    const settled = new Date(now.getTime() - SETTLED_MS);
    const isFixed = query.status === undefined && query.to < settled;
    const keyOf = (n: number): string => [accountId, query.channel, filter.firstId, filter.endId, limit, n].join();
    const endOfPrevious = isFixed && page > 0 ? pageEnds.get(keyOf(page - 1)) : undefined;
    const start: PageStart =
      endOfPrevious === undefined ? { endId: filter.endId, offset: page * limit } : { endId: endOfPrevious, offset: 0 };
    const isDeep = query.status === undefined && start.offset > MAX_SHALLOW_OFFSET;
    const found = isDeep ? await findStart(db, filter, start.offset, settled) : start;
    const ids = await listNewestFirst(db, { ...filter, ...found }, limit);
    const last = ids.at(-1);
    if (last === undefined) return [];
    if (isFixed && ids.length === limit) pageEnds.set(keyOf(page), last);
    const records = await listRecordsById(db, { accountId, ids });
    // Ids sort by time.
    return records.sort((a, b) => (a.id < b.id ? 1 : -1));
  };
}

/**
 * Lists ids of messages, newest first. With a status, the newest 32nd of the range is read first, then four times as
 * much each time, until there are enough: a rare status is looked for in a short range through the index, and a
 * frequent one is not.
 */
async function listNewestFirst(db: Db, filter: HistoryFilter & PageStart, limit: number): Promise<string[]> {
  const { status, offset } = filter;
  if (status === undefined) return listHistoryIds(db, { ...filter, limit });
  const ids: string[] = [];
  for (const window of windowsOf(filter)) {
    ids.push(...(await listHistoryIds(db, { ...filter, ...window, limit: offset + limit - ids.length, offset: 0 })));
    if (ids.length === offset + limit) break;
  }
  return ids.slice(offset);
}

/** Divides a range of ids into windows, the newest first, each four times as long as the one before. */
function windowsOf({ firstId, endId }: Range): Range[] {
  const first = timeOfId(firstId).getTime();
  const windows: Range[] = [];
  let end = endId;
  for (let span = (timeOfId(endId).getTime() - first) / WINDOWS; ; span *= WINDOW_GROWTH) {
    const start = timeOfId(end).getTime() - Math.max(span, MIN_WINDOW_MS);
    if (start <= first) return [...windows, { firstId, endId: end }];
    const startId = firstIdAt(new Date(start));
    windows.push({ firstId: startId, endId: end });
    end = startId;
  }
}

/** Returns null when no message can match. */
async function toFilter(
  db: Db,
  accountId: number,
  { channel, from, to, status }: HistoryQuery,
): Promise<HistoryFilter | null> {
  const range = idRangeOf(from, to);
  if (from > to || range.endId <= range.firstId) return null;
  if (status === undefined) return { accountId, channel, ...range };
  const shown = codesShownAs(channel, status);
  if (shown === null) return null;
  const { codes, queued } = shown;
  return { accountId, channel, ...range, status: { codes, queued: queued ? await queuedBy(db, accountId) : 'none' } };
}

const queuedBy = async (db: Db, accountId: number): Promise<StatusFilter['queued']> =>
  (await countQueued(db, { accountId })) <= MAX_QUEUED_LOOKUPS ? 'in queue' : 'among messages';

/** Returns the id range of the messages accepted from one instant to another, both inclusive. None are before 1970. */
export function idRangeOf(from: Date, to: Date): Range {
  const idAt = (ms: number): string => firstIdAt(new Date(Math.max(0, ms)));
  return { firstId: idAt(from.getTime()), endId: idAt(to.getTime() + 1) };
}

/**
 * Returns the codes that clients see as this status on a channel (messaging/tracking/status.ts), and `queued`: true if
 * messages without a state count too. Returns null when nothing has this status.
 */
function codesShownAs(channel: Channel, status: StatusName): { codes: number[]; queued: boolean } | null {
  const { showsAccepted } = CHANNEL[channel];
  if (status === 'ACCEPTED') return showsAccepted ? { codes: [STATUS.ACCEPTED], queued: true } : null;
  if (status === 'UNKNOWN' && !showsAccepted) return { codes: [STATUS.UNKNOWN, STATUS.ACCEPTED], queued: true };
  return { codes: [STATUS[status]], queued: false };
}

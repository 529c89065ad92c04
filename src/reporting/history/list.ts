import { LRUCache } from 'lru-cache';
import { STATUS, type StatusName } from '../../messaging/states.ts';
import { listRecordsById, type MessageRecord } from '../../messaging/tracking/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { createStartFinder, type PageStart } from './depth.ts';
import { countQueued, type HistoryFilter, listHistoryIds, type StatusFilter } from './sql.ts';

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
  const pageEnds = new LRUCache<string, string>({ max: MAX_PAGE_ENDS });
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
  const onSms = channel === 'SMS';
  if (status === 'ACCEPTED') return onSms ? { codes: [STATUS.ACCEPTED], queued: true } : null;
  if (status === 'UNKNOWN' && !onSms) return { codes: [STATUS.UNKNOWN, STATUS.ACCEPTED], queued: true };
  return { codes: [STATUS[status]], queued: false };
}

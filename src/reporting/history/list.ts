import { LRUCache } from 'lru-cache';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { STATUS, type StatusName } from '../../messaging/states.ts';
import { listRecordsById, type MessageRecord } from '../../messaging/tracking/sql.ts';
import { createDepth, type Start } from './depth.ts';
import { countQueued, type HistoryFilter, listHistoryIds, type StatusFilter } from './sql.ts';

/** What the history is asked: messages accepted from one time to another, both included. */
export type HistoryAsked = {
  readonly channel: Channel;
  readonly from: Date;
  readonly to: Date;
  readonly status?: StatusName | undefined;
  readonly page: number;
  readonly limit: number;
};

type Asking = { readonly accountId: number };

/** A message is committed some time after its id was made, never by more than a statement and a transaction may take. */
const SETTLED_MS = 5 * 60_000;
const MARKS = 20_000;
/** To pass over fewer messages than these takes some milliseconds. */
const DEEP = 2000;
/** When more messages wait, to look at each costs more than to read the range. */
const FEW_QUEUED = 20_000;

/**
 * Pages of messages, the newest first. Ranges that lie in the past have the same messages for ever, so the end of a page
 * is remembered: whoever walks through them goes on behind it, and does not pass over all pages before. Whoever comes to
 * a deep page from elsewhere passes over whole hours.
 */
export function createHistory() {
  const marks = new LRUCache<string, string>({ max: MARKS });
  const findStart = createDepth();

  return async (db: Db, { accountId }: Asking, asked: HistoryAsked, now: Date): Promise<MessageRecord[]> => {
    const { limit, page } = asked;
    const filter = await filterOf(db, accountId, asked);
    if (filter === null) return [];
    const settled = new Date(now.getTime() - SETTLED_MS);
    const isFixed = asked.status === undefined && asked.to < settled;
    const markOf = (n: number): string => [accountId, asked.channel, filter.firstId, filter.endId, limit, n].join();
    const mark = isFixed && page > 0 ? marks.get(markOf(page - 1)) : undefined;
    const start: Start =
      mark === undefined ? { endId: filter.endId, offset: page * limit } : { endId: mark, offset: 0 };
    const isDeep = asked.status === undefined && start.offset > DEEP;
    const found = isDeep ? await findStart(db, filter, start.offset, settled) : start;
    const ids = await listHistoryIds(db, { ...filter, ...found, limit });
    const last = ids.at(-1);
    if (last === undefined) return [];
    if (isFixed && ids.length === limit) marks.set(markOf(page), last);
    const records = await listRecordsById(db, { accountId, ids });
    // Ids are in the order of time.
    return records.sort((a, b) => (a.id < b.id ? 1 : -1));
  };
}

/** Null: nothing can be in it. */
async function filterOf(
  db: Db,
  accountId: number,
  { channel, from, to, status }: HistoryAsked,
): Promise<HistoryFilter | null> {
  const range = idsFrom(from, to);
  if (from > to || range.endId <= range.firstId) return null;
  if (status === undefined) return { accountId, channel, ...range };
  const reads = statesOf(channel, status);
  if (reads === null) return null;
  const { codes, queued } = reads;
  return { accountId, channel, ...range, status: { codes, queued: queued ? await waysTo(db, accountId) : 'none' } };
}

const waysTo = async (db: Db, accountId: number): Promise<StatusFilter['queued']> =>
  (await countQueued(db, { accountId })) <= FEW_QUEUED ? 'in queue' : 'among messages';

/** The ids of messages accepted from one time to another, both included. Before 1970 there are none. */
export function idsFrom(from: Date, to: Date): { readonly firstId: string; readonly endId: string } {
  const idAt = (ms: number): string => firstIdAt(new Date(Math.max(0, ms)));
  return { firstId: idAt(from.getTime()), endId: idAt(to.getTime() + 1) };
}

/** What reads as this status on a channel (messaging/tracking/status.ts); `queued`: what has no state too; null: nothing does. */
function statesOf(channel: Channel, status: StatusName): { codes: number[]; queued: boolean } | null {
  const onSms = channel === 'SMS';
  if (status === 'ACCEPTED') return onSms ? { codes: [STATUS.ACCEPTED], queued: true } : null;
  if (status === 'UNKNOWN' && !onSms) return { codes: [STATUS.UNKNOWN, STATUS.ACCEPTED], queued: true };
  return { codes: [STATUS[status]], queued: false };
}

import { LRUCache } from 'lru-cache';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { DAY_MS, HOUR_MS } from '../../platform/lib/time.ts';
import { countPerRange, findFirstId, type HistoryFilter } from './sql.ts';

/** Ninety days of one channel are 2,160 hours. */
const MAX_CACHED_HOURS = 100_000;

/** Start of a page: among the messages before `endId`, newest first, after the first `offset` of them. */
export type PageStart = { readonly endId: string; readonly offset: number };

/**
 * Creates a function that finds the start of a page behind many messages without reading these. The messages of a past
 * hour never change, so they are counted once (a day in one statement), and from then on the hour is skipped.
 *
 * Its parameter `settled` is the instant before which no message can appear any more.
 */
export function createStartFinder() {
  const counts = new LRUCache<string, number>({ max: MAX_CACHED_HOURS });

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

import { LRUCache } from 'lru-cache';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { countBetween, findFirstId, type HistoryFilter } from './sql.ts';
import { DAY_MS, HOUR_MS } from '../../platform/lib/time.ts';

/** Ninety days of one channel have 2,160. */
const HOURS = 100_000;

/** Where to read: behind `endId`, and `offset` messages further. */
export type Start = { readonly endId: string; readonly offset: number };

/**
 * Where a page begins that many messages lie before: the hours of the past have the same messages for ever, so they are
 * counted once, a day with one statement, and passed over from then on.
 *
 * `settled`: before it no message can come any more.
 */
export function createDepth() {
  const counts = new LRUCache<string, number>({ max: HOURS });

  /** Of each hour of [from, to), the oldest first. */
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
    const counted = await countBetween(db, { accountId, channel, bounds });
    for (const [n, hour] of hours.entries()) counts.set(keyOf(hour), counted[n] ?? 0);
    return counted;
  }

  return async (db: Db, filter: HistoryFilter, offset: number, settled: Date): Promise<Start> => {
    const here = { endId: filter.endId, offset };
    const firstId = await findFirstId(db, filter);
    const hours = firstId === undefined ? null : wholeHours(firstId, filter.endId, settled);
    if (hours === null) return here;
    let end = hours.end;
    let left = offset - (await countNewer(db, filter, end));
    if (left < 0) return here;
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

/** The hours that are over and lie in a range with all their messages; null: there is none. */
function wholeHours(firstId: string, endId: string, settled: Date): { first: number; end: number } | null {
  const first = Math.ceil(timeOfId(firstId).getTime() / HOUR_MS) * HOUR_MS;
  const last = Math.min(timeOfId(endId).getTime(), settled.getTime());
  const end = Math.floor(last / HOUR_MS) * HOUR_MS;
  return end > first ? { first, end } : null;
}

/** Those from `end` on: they may still become more. */
async function countNewer(db: Db, filter: HistoryFilter, end: number): Promise<number> {
  const bounds = [idAt(end), filter.endId];
  const [newer = 0] = bounds[0] === bounds[1] ? [] : await countBetween(db, { ...filter, bounds });
  return newer;
}

import { LRUCache } from 'lru-cache';

/** What counters that only grow were at an instant. */
type Reading = { readonly at: number; readonly counts: readonly number[] };

/** Tells how fast counters grow from what they were before. */
export type Meter = {
  /**
   * How much each counter of `key` has grown a second, over about the last minute or since it was read before; null when
   * it was not, or only just. A counter that fell did not grow.
   */
  read(key: string, at: Date, counts: readonly number[]): readonly number[] | null;
};

const WINDOW_MS = 60_000;
/** Whoever asks once a minute or so still has a reading to compare with. */
const KEPT_MS = 5 * 60_000;
const SPACING_MS = 2000;
const LEAST_MS = 1000;
const MOST_KEYS = 5000;

/** Readings of this process, some thirty a key; a rate is exact for the time between two of them. */
export function createMeter(): Meter {
  const readings = new LRUCache<string, Reading[]>({ max: MOST_KEYS, ttl: KEPT_MS });
  return {
    read(key, at, counts) {
      const now = at.getTime();
      const known = (readings.get(key) ?? []).filter((reading) => reading.at > now - KEPT_MS);
      // The youngest that is a whole window old, else the oldest.
      while (known[1] && known[1].at <= now - WINDOW_MS) known.shift();
      const before = known[0];
      if (now - (known.at(-1)?.at ?? 0) >= SPACING_MS) known.push({ at: now, counts });
      readings.set(key, known);
      return before && now - before.at >= LEAST_MS ? growth(before, { at: now, counts }) : null;
    },
  };
}

const growth = (before: Reading, { at, counts }: Reading): number[] =>
  counts.map((count, i) => Math.max(0, count - (before.counts[i] ?? 0)) / ((at - before.at) / 1000));

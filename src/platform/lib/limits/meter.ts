import { LRUCache } from 'lru-cache';

/** The values of some monotonic counters at an instant. */
type Reading = { readonly at: number; readonly counts: readonly number[] };

/** Computes the rates of counters from their earlier readings. */
export type Meter = {
  /**
   * Returns the growth per second of each counter of `key`, over about the last minute or since an earlier reading;
   * null if there is no reading that is at least a second old. A counter that fell has a growth of 0.
   */
  read(key: string, at: Date, counts: readonly number[]): readonly number[] | null;
};

const WINDOW_MS = 60_000;
/** Callers that ask about once a minute still find a reading to compare with. */
const MAX_AGE_MS = 5 * 60_000;
const MIN_SPACING_MS = 2000;
const MIN_INTERVAL_MS = 1000;
const MAX_KEYS = 5000;

/**
 * Creates a meter. It keeps about thirty readings per key in memory; a rate is exact for the time between two of them.
 */
export function createMeter(): Meter {
  const readings = new LRUCache<string, Reading[]>({ max: MAX_KEYS, ttl: MAX_AGE_MS });
  return {
    read(key, at, counts) {
      const now = at.getTime();
      const known = (readings.get(key) ?? []).filter((reading) => reading.at > now - MAX_AGE_MS);
      // The latest reading that is a whole window old, else the oldest.
      while (known[1] && known[1].at <= now - WINDOW_MS) known.shift();
      const before = known[0];
      if (now - (known.at(-1)?.at ?? 0) >= MIN_SPACING_MS) known.push({ at: now, counts });
      readings.set(key, known);
      return before && now - before.at >= MIN_INTERVAL_MS ? growth(before, { at: now, counts }) : null;
    },
  };
}

const growth = (before: Reading, { at, counts }: Reading): number[] =>
  counts.map((count, i) => Math.max(0, count - (before.counts[i] ?? 0)) / ((at - before.at) / 1000));

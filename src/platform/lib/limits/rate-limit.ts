import { LRUCache } from 'lru-cache';

/** A rate limit: the maximum number of events in any 60 seconds, and in any one second. */
export type Rate = { readonly perMinute: number; readonly perSecond: number };

/** The decision of a rate limiter. */
export type Verdict = {
  readonly allowed: boolean;
  /** The limit per minute. */
  readonly limit: number;
  /** Number of further calls allowed in this minute. */
  readonly remaining: number;
  /** Seconds until `remaining` begins to grow. */
  readonly resetSeconds: number;
  /** Seconds until a retry may succeed; 0 if allowed. */
  readonly retryAfterSeconds: number;
};

export type RateLimiter = {
  /** Counts one event under this name, but only if the rate allows it. */
  take(name: string, rate: Rate): Verdict;
  /** Returns the verdict of `take`, without counting. */
  peek(name: string, rate: Rate): Verdict;
  /** Reverts one count, for an event that turned out not to be counted. */
  refund(name: string): void;
  /** Returns the counts made here since the last call, for publishing to the other processes. */
  takeUnpublished(): [name: string, count: number][];
  /** Adds counts of another process. They count towards the minute, not towards the second. */
  addRemote(counts: readonly (readonly [name: string, count: number])[]): void;
};

export type RateLimiterOptions = {
  /** Maximum number of names in memory; beyond it the least recently used are forgotten. */
  readonly maxNames?: number;
  /** Called at the first unpublished count. Without it no unpublished counts are kept. */
  readonly onUnpublished?: () => void;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
};

const SECONDS = 60;

/** The last 60 seconds of one name. */
type Minute = {
  /** The counts by second, as a ring buffer. */
  readonly counts: Int32Array;
  /** The latest second with a count. */
  second: number;
  /** The sum of all counts. */
  total: number;
  /** The count of this process in the latest second. */
  own: number;
};

/**
 * Creates a rate limiter that counts by name and second, so that a limit holds for every span of 60 seconds and not
 * only for calendar minutes. Exact within one process. With `n` processes that share their counts every `t` seconds
 * (src/platform/db/shared-limiter.ts), at most `(n - 1) x perSecond x ceil(t)` events pass beyond `perMinute`, and `n x
 * perSecond` in one second. A name takes about 500 bytes.
 */
export function createRateLimiter(options: RateLimiterOptions = {}): RateLimiter {
  const { maxNames = 50_000, onUnpublished, now = () => performance.now() } = options;
  const minutes = new LRUCache<string, Minute>({ max: maxNames });
  const unpublished = new Map<string, number>();

  const find = (name: string): Minute | undefined => {
    const minute = minutes.get(name);
    if (minute) advance(minute, Math.floor(now() / 1000));
    return minute;
  };
  const open = (name: string): Minute => {
    const minute = find(name) ?? emptyMinute(Math.floor(now() / 1000));
    minutes.set(name, minute);
    return minute;
  };
  const count = (name: string, minute: Minute, by: number): void => {
    add(minute, by);
    minute.own += by;
    if (!onUnpublished) return;
    if (unpublished.size === 0) onUnpublished();
    unpublished.set(name, (unpublished.get(name) ?? 0) + by);
  };
  return {
    take(name, rate) {
      const minute = open(name);
      const verdict = verdictOf(minute, rate);
      if (!verdict.allowed) return verdict;
      count(name, minute, 1);
      return { ...verdict, remaining: verdict.remaining - 1, resetSeconds: verdict.resetSeconds || SECONDS };
    },
    peek: (name, rate) => verdictOf(find(name) ?? emptyMinute(0), rate),
    refund: (name) => count(name, open(name), -1),
    takeUnpublished() {
      const all = [...unpublished];
      unpublished.clear();
      return all;
    },
    addRemote(counts) {
      for (const [name, by] of counts) add(open(name), by);
    },
  };
}

const emptyMinute = (second: number): Minute => ({ counts: new Int32Array(SECONDS), second, total: 0, own: 0 });

function add(minute: Minute, by: number): void {
  const slot = minute.second % SECONDS;
  minute.counts[slot] = (minute.counts[slot] ?? 0) + by;
  minute.total += by;
}

/** Clears the seconds that have left the window of 60 seconds. */
function advance(minute: Minute, second: number): void {
  if (second === minute.second) return;
  const passed = Math.min(second - minute.second, SECONDS);
  for (let i = 1; i <= passed; i++) {
    const slot = (minute.second + i) % SECONDS;
    minute.total -= minute.counts[slot] ?? 0;
    minute.counts[slot] = 0;
  }
  minute.second = second;
  minute.own = 0;
}

function verdictOf(minute: Minute, { perMinute, perSecond }: Rate): Verdict {
  const resetSeconds = secondsUntilNext(minute);
  const spent = minute.total >= perMinute;
  const allowed = !spent && minute.own < perSecond;
  return {
    allowed,
    limit: perMinute,
    remaining: Math.max(0, perMinute - minute.total),
    resetSeconds,
    retryAfterSeconds: allowed ? 0 : spent ? Math.max(1, resetSeconds) : 1,
  };
}

/** Seconds until the oldest second with a count leaves the window. */
function secondsUntilNext({ counts, second, total }: Minute): number {
  if (total <= 0) return 0;
  for (let age = SECONDS - 1; age > 0; age--)
    if ((counts[(second - age + SECONDS) % SECONDS] ?? 0) > 0) return SECONDS - age;
  return SECONDS;
}

/** Returns the headers `X-RateLimit-…`; X-RateLimit-Reset is in seconds from now. */
export const rateHeaders = (
  verdict: Pick<Verdict, 'limit' | 'remaining' | 'resetSeconds'>,
): Record<string, string> => ({
  'x-ratelimit-limit': String(verdict.limit),
  'x-ratelimit-remaining': String(verdict.remaining),
  'x-ratelimit-reset': String(verdict.resetSeconds),
});

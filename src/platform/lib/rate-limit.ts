import { LRUCache } from 'lru-cache';

/** How often something may happen: so often in any 60 seconds, and so often in one second. */
export type Rate = { readonly perMinute: number; readonly perSecond: number };

export type Verdict = {
  readonly allowed: boolean;
  readonly limit: number;
  /** What is left of the minute. */
  readonly remaining: number;
  /** Until `remaining` begins to grow. */
  readonly resetSeconds: number;
  /** 0 when allowed. */
  readonly retryAfterSeconds: number;
};

export type RateLimiter = {
  /** Counts one more under this name when the rate allows it, and only then. */
  take(name: string, rate: Rate): Verdict;
  /** What `take` would say. */
  look(name: string, rate: Rate): Verdict;
  /** One that was counted turned out not to count. */
  giveBack(name: string): void;
  /** What was counted here since the last call, for the other processes. */
  takeNews(): [name: string, count: number][];
  /** What another process counted. Fills the minute, not the second. */
  hear(news: readonly (readonly [name: string, count: number])[]): void;
};

export type RateLimiterOptions = {
  /** Names that are remembered; beyond that the ones not asked for longest are forgotten. */
  readonly maxNames?: number;
  /** Called when there is news where there was none. Without it no news is kept. */
  readonly onNews?: () => void;
  /** In ms, monotonic. */
  readonly now?: () => number;
};

const SECONDS = 60;

/** The last 60 seconds of one name. */
type Minute = {
  /** By second, as a ring. */
  readonly counts: Int32Array;
  /** The second that was counted in last. */
  second: number;
  /** The sum of the counts. */
  total: number;
  /** What this process counted in that second. */
  own: number;
};

/**
 * Counts by name and by second, so that a limit holds for every span of 60 seconds and not only for calendar minutes.
 * Exact in one process. With others whose news is heard every `t` seconds (src/platform/db/share-counts.ts), `n` processes
 * together let at most `(n - 1) x perSecond x ceil(t)` pass beyond `perMinute`, and `n x perSecond` in one second.
 * About 500 octets a name.
 */
export function createRateLimiter(options: RateLimiterOptions = {}): RateLimiter {
  const { maxNames = 50_000, onNews, now = () => performance.now() } = options;
  const minutes = new LRUCache<string, Minute>({ max: maxNames });
  const news = new Map<string, number>();

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
    if (!onNews) return;
    if (news.size === 0) onNews();
    news.set(name, (news.get(name) ?? 0) + by);
  };
  return {
    take(name, rate) {
      const minute = open(name);
      const verdict = judge(minute, rate);
      if (!verdict.allowed) return verdict;
      count(name, minute, 1);
      return { ...verdict, remaining: verdict.remaining - 1, resetSeconds: verdict.resetSeconds || SECONDS };
    },
    look: (name, rate) => judge(find(name) ?? emptyMinute(0), rate),
    giveBack: (name) => count(name, open(name), -1),
    takeNews() {
      const all = [...news];
      news.clear();
      return all;
    },
    hear(heard) {
      for (const [name, by] of heard) add(open(name), by);
    },
  };
}

const emptyMinute = (second: number): Minute => ({ counts: new Int32Array(SECONDS), second, total: 0, own: 0 });

function add(minute: Minute, by: number): void {
  const slot = minute.second % SECONDS;
  minute.counts[slot] = (minute.counts[slot] ?? 0) + by;
  minute.total += by;
}

/** Forgets the seconds that have left the minute by now. */
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

function judge(minute: Minute, { perMinute, perSecond }: Rate): Verdict {
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

/** Until the oldest second with something in it leaves the minute. */
function secondsUntilNext({ counts, second, total }: Minute): number {
  if (total <= 0) return 0;
  for (let age = SECONDS - 1; age > 0; age--)
    if ((counts[(second - age + SECONDS) % SECONDS] ?? 0) > 0) return SECONDS - age;
  return SECONDS;
}

/** The headers of contract 1, "Rate limits"; Reset is in seconds from now. */
export const rateHeaders = (
  verdict: Pick<Verdict, 'limit' | 'remaining' | 'resetSeconds'>,
): Record<string, string> => ({
  'x-ratelimit-limit': String(verdict.limit),
  'x-ratelimit-remaining': String(verdict.remaining),
  'x-ratelimit-reset': String(verdict.resetSeconds),
});

import { LRUCache } from 'lru-cache';

/** Returns the taken amount. Calling it again does nothing. */
type Release = () => void;

/**
 * Ends a caller's use of its amount, to make room for another one; false if that is not possible now. The budget counts
 * it as returned immediately.
 */
type Cut = () => boolean;

/**
 * Reason why nothing was taken: the caller holds its maximum, or everything is taken and the caller is not owed a
 * share.
 */
export type Shortage = 'caller' | 'all';

/** Divides a bounded amount among callers, so that none of them can starve another one. */
type FairBudget = {
  /**
   * Takes an amount for a caller, which is compared by identity. When everything is taken, the callers that hold the
   * most make room, as long as they hold more than this one would; the amount taken last is cut first.
   */
  take(caller: unknown, amount: number, cut: Cut): Release | Shortage;
  /** Returns the amount taken. */
  held(): number;
};

type Holding = { readonly caller: unknown; readonly amount: number; readonly cut: Cut };
type Account = { amount: number; readonly holdings: Set<Holding> };

/** Creates a budget of `all`, of which one caller holds at most `perCaller`. */
export function createFairBudget({ all, perCaller }: { readonly all: number; readonly perCaller: number }): FairBudget {
  const accounts = new Map<unknown, Account>();
  let held = 0;

  function remove(holding: Holding): void {
    const account = accounts.get(holding.caller);
    if (!account?.holdings.delete(holding)) return;
    account.amount -= holding.amount;
    held -= holding.amount;
    if (account.holdings.size === 0) accounts.delete(holding.caller);
  }

  /** Makes room until `amount` fits; false if the amounts that callers hold beyond `own` do not suffice. */
  function makeRoom(amount: number, own: number): boolean {
    if (held + amount > all && held + amount - beyond(accounts, own) > all) return false;
    while (held + amount > all) {
      const victim = findVictim(accounts, own);
      if (!victim) return false;
      remove(victim);
    }
    return true;
  }

  return {
    take(caller, amount, cut) {
      const own = (accounts.get(caller)?.amount ?? 0) + amount;
      if (own > perCaller) return 'caller';
      if (!makeRoom(amount, own)) return 'all';
      const account = accounts.get(caller) ?? { amount: 0, holdings: new Set() };
      const holding = { caller, amount, cut };
      accounts.set(caller, account);
      account.holdings.add(holding);
      account.amount += amount;
      held += amount;
      return () => remove(holding);
    },
    held: () => held,
  };
}

/**
 * Returns the amount that callers hold beyond `own` each. Nothing is cut for a caller who could not be served anyway.
 */
function beyond(accounts: ReadonlyMap<unknown, Account>, own: number): number {
  let sum = 0;
  for (const { amount } of accounts.values()) sum += Math.max(0, amount - own);
  return sum;
}

/** Cuts the newest holding of the caller that holds the most, if that is more than `own`, and returns it. */
function findVictim(accounts: ReadonlyMap<unknown, Account>, own: number): Holding | undefined {
  const heaviest = [...accounts.values()].filter(({ amount }) => amount > own).sort((a, b) => b.amount - a.amount);
  for (const { holdings } of heaviest) {
    const victim = [...holdings].reverse().find((holding) => holding.cut());
    if (victim) return victim;
  }
  return undefined;
}

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
  second: number;
  total: number;
  /** The count of this process in the latest second. */
  own: number;
};

/**
 * Creates a cache of at most `max` entries by name that forgets the least recently used beyond it. Unlike one with the
 * option `max`, it reserves no memory: 50,000 entries are 1.2 MB before the first, and some thirty of these exist.
 */
export const createGrowingCache = <T extends {}>(max: number): LRUCache<string, T> =>
  new LRUCache({ maxSize: max, sizeCalculation: () => 1 });

/**
 * Creates a rate limiter that counts by name and second, so that a limit holds for every span of 60 seconds and not
 * only for calendar minutes. Exact within one process. With `n` processes that share their counts every `t` seconds
 * (src/core/db/shared-limiter.ts), at most `(n - 1) x perSecond x ceil(t)` events pass beyond `perMinute`, and `n x
 * perSecond` in one second. A name takes about 500 bytes.
 */
export function createRateLimiter(options: RateLimiterOptions = {}): RateLimiter {
  const { maxNames = 50_000, onUnpublished, now = () => performance.now() } = options;
  const minutes = createGrowingCache<Minute>(maxNames);
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

/** Limits the number of pieces of work that run at the same time. */
type Slots = {
  /** Runs the work as soon as a slot is free, in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>;
};

/** Creates `size` slots. */
export function createSlots(size: number): Slots {
  const waiting: (() => void)[] = [];
  let free = size;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };
  return {
    async run(work) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

/** Limits a rate, with small bursts. */
export type TokenBucket = {
  /** Takes `count` tokens. The balance may go below zero by the parts of one message; later refills make up for it. */
  take(count: number): void;
  /**
   * Returns true if the next message may be sent. One that is not urgent leaves a tenth of a second's tokens to urgent
   * ones.
   */
  ready(isUrgent?: boolean): boolean;
  /** Milliseconds until `ready`. */
  waitMs(isUrgent?: boolean): number;
  perSecond(): number;
  /** Changes the rate. The balance stays, up to the new burst. */
  setRate(perSecond: number): void;
};

/** Share of the rate kept for urgent messages: those of the next tenth of a second find tokens at any time. */
const KEPT_SECONDS = 0.1;

/** Creates a bucket for `perSecond` tokens with bursts of at most a quarter of a second; 0 means no limit. */
export function createTokenBucket(perSecond: number, now: () => number = () => performance.now()): TokenBucket {
  let rate = perSecond;
  let tokens = burstOf(rate);
  let at = now();
  const refill = (): void => {
    if (rate === 0) return;
    const time = now();
    tokens = Math.min(burstOf(rate), tokens + ((time - at) * rate) / 1000);
    at = time;
  };
  /** Returns the number of tokens that the next message lacks. */
  const missing = (isUrgent: boolean): number => (rate === 0 ? 0 : 1 + (isUrgent ? 0 : keptOf(rate)) - tokens);
  return {
    take(count) {
      refill();
      tokens -= count;
    },
    ready(isUrgent = true) {
      refill();
      return missing(isUrgent) <= 0;
    },
    waitMs(isUrgent = true) {
      refill();
      return Math.max(0, Math.ceil((missing(isUrgent) * 1000) / rate) || 0);
    },
    perSecond: () => rate,
    setRate(next) {
      refill();
      if (rate === 0) [tokens, at] = [0, now()];
      rate = next;
    },
  };
}

/** The tokens for urgent messages; a bucket that holds only one keeps none. */
const keptOf = (rate: number): number => Math.min(rate * KEPT_SECONDS, burstOf(rate) - 1);
const burstOf = (rate: number): number => Math.max(1, rate / 4);

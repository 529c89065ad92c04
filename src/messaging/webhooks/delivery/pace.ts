/** Requests to one receiver. */
export const MOST_AT_ONCE = 64;
const FIRST_AT_ONCE = 8;
/** A failure takes one of so many away: a receiver that refuses every third event still gets a dozen at once. */
const BACK_OFF = 8;
/** So many failures in a row, and the receiver is left alone for a while. */
const STRIKES = 10;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** How much one receiver is asked at the same time: more while it answers, less after failures, nothing in a pause. */
export type Pace = {
  /** How many requests may be under way now. */
  allowed(nowMs: number): number;
  succeeded(): void;
  /** @param askedMs what the receiver asked to be left alone for, as far as that is not about one event */
  failed(nowMs: number, askedMs: number): void;
  /** Nothing has succeeded since it last failed. */
  isFailing(): boolean;
};

/**
 * The breaker of one receiver, and its share: a dead one costs a request a minute at last, and one that comes back is
 * at its full rate after as many answers as it may have at once.
 */
export function createPace(): Pace {
  let limit = FIRST_AT_ONCE;
  let failures = 0;
  let pauses = 0;
  let pausedUntilMs = 0;

  const pause = (nowMs: number, ms: number): void => {
    pausedUntilMs = Math.max(pausedUntilMs, nowMs + ms);
  };
  return {
    allowed: (nowMs) => (nowMs < pausedUntilMs ? 0 : limit),
    succeeded() {
      limit = Math.min(limit + 1, MOST_AT_ONCE);
      failures = 0;
      pauses = 0;
      pausedUntilMs = 0;
    },
    failed(nowMs, askedMs) {
      failures++;
      limit = Math.max(1, limit - Math.ceil(limit / BACK_OFF));
      pause(nowMs, Math.min(askedMs, LONGEST_PAUSE_MS));
      // What was under way when the pause began fails during it, and is no news.
      if (failures < STRIKES || nowMs < pausedUntilMs) return;
      limit = 1;
      pause(nowMs, Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS));
      pauses++;
    },
    isFailing: () => failures > 0,
  };
}

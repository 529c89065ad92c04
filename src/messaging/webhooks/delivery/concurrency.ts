/** Concurrent requests to one receiver. */
export const MAX_CONCURRENCY = 64;
/** Initial limit, before the capacity of the receiver is known. */
export const INITIAL_CONCURRENCY = 8;
/**
 * A failure reduces the limit by an eighth: a receiver that fails every third event still gets a dozen at the same
 * time.
 */
const BACK_OFF_DIVISOR = 8;
/** After this many failures in a row the receiver gets a pause. */
const FAILURES_BEFORE_PAUSE = 10;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

/** The concurrency of one receiver: it rises while the receiver responds, falls after failures, and is 0 in a pause. */
export type Concurrency = {
  /** Returns how many requests may be in flight now. */
  allowed(nowMs: number): number;
  succeeded(): void;
  /** @param askedMs how long the receiver asked for a pause (Retry-After with 429 or 503); 0 without such a request */
  failed(nowMs: number, askedMs: number): void;
  /** Returns true if nothing has succeeded since the last failure. */
  isFailing(): boolean;
};

/**
 * Creates the circuit breaker of one receiver: a dead one costs at most one request a minute in the end, and one that
 * comes back reaches full concurrency after 64 responses.
 */
export function createConcurrency(): Concurrency {
  let limit = INITIAL_CONCURRENCY;
  let failures = 0;
  let pauses = 0;
  let pausedUntilMs = 0;

  const pause = (nowMs: number, ms: number): void => {
    pausedUntilMs = Math.max(pausedUntilMs, nowMs + ms);
  };
  return {
    allowed: (nowMs) => (nowMs < pausedUntilMs ? 0 : limit),
    succeeded() {
      limit = Math.min(limit + 1, MAX_CONCURRENCY);
      failures = 0;
      pauses = 0;
      pausedUntilMs = 0;
    },
    failed(nowMs, askedMs) {
      failures++;
      limit = Math.max(1, limit - Math.ceil(limit / BACK_OFF_DIVISOR));
      pause(nowMs, Math.min(askedMs, MAX_PAUSE_MS));
      // Requests that were in flight when the pause began may fail during it: they do not prolong it.
      if (failures < FAILURES_BEFORE_PAUSE || nowMs < pausedUntilMs) return;
      limit = 1;
      pause(nowMs, Math.min(FIRST_PAUSE_MS * 2 ** pauses, MAX_PAUSE_MS));
      pauses++;
    },
    isFailing: () => failures > 0,
  };
}

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

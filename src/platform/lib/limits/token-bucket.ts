/** Limits a rate, with small bursts. */
export type TokenBucket = {
  /** Takes `count` tokens. The balance may go below zero by the parts of one message; later refills make up for it. */
  take(count: number): void;
  /** Whether the next message may be sent. */
  ready(): boolean;
  /** Milliseconds until `ready`. */
  waitMs(): number;
  perSecond(): number;
  /** Changes the rate. The balance stays, up to the new burst. */
  setRate(perSecond: number): void;
};

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
  return {
    take(count) {
      refill();
      tokens -= count;
    },
    ready() {
      refill();
      return rate === 0 || tokens >= 1;
    },
    waitMs() {
      refill();
      return rate === 0 || tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / rate);
    },
    perSecond: () => rate,
    setRate(next) {
      refill();
      if (rate === 0) [tokens, at] = [0, now()];
      rate = next;
    },
  };
}

const burstOf = (rate: number): number => Math.max(1, rate / 4);

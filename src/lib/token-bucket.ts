export type TokenBucket = {
  /** Takes `count` tokens now. May go below zero by one message's parts; later takes pay it back. */
  take(count: number): void;
  /** Whether the next message may go. */
  ready(): boolean;
  /** How long until `ready`, in ms. */
  waitMs(): number;
};

/** Holds a rate of `perSecond` with bursts of at most a quarter of a second's worth; 0 means no limit. */
export function createTokenBucket(perSecond: number, now: () => number = () => performance.now()): TokenBucket {
  if (perSecond === 0) return { take() {}, ready: () => true, waitMs: () => 0 };
  const burst = Math.max(1, perSecond / 4);
  let tokens = burst;
  let at = now();
  const refill = (): void => {
    const time = now();
    tokens = Math.min(burst, tokens + ((time - at) * perSecond) / 1000);
    at = time;
  };
  return {
    take(count) {
      refill();
      tokens -= count;
    },
    ready() {
      refill();
      return tokens >= 1;
    },
    waitMs() {
      refill();
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / perSecond);
    },
  };
}

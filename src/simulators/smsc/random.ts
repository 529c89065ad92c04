/** A repeatable source of random numbers. */
export type Random = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns true in about `share` of the calls; draws no number when the share is 0. */
  chance(share: number): boolean;
};

/** Creates a mulberry32 generator: the same seed yields the same sequence. Not for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  return { next, chance: (share) => share > 0 && next() < share };
}

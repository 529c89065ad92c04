export type Random = {
  /** A number from 0 (included) to 1 (not included). */
  next(): number;
  /** True in about `share` of the calls. Draws nothing when the share is 0. */
  chance(share: number): boolean;
};

/** The mulberry32 generator: the same seed gives the same sequence. Not for secrets. */
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

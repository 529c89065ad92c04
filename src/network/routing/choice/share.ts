/**
 * Returns 32 well-mixed bits of a text and a number. The same input gives the same bits in every process, which keeps a
 * message on its way. FNV-1a, then the finaliser of MurmurHash3.
 */
export function hashOf(text: string, salt: number): number {
  let hash = 0x811c9dc5 ^ salt;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

function mix(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns a number from 0 to below 1 that a hash and a number determine, evenly distributed over hashes. */
export const unitOf = (hash: number, salt: number): number => mix(hash ^ Math.imul(salt, 0x9e3779b1)) / 2 ** 32;

/** Something with a share of the traffic, with an id that stays the same. */
export type Sharer = { readonly id: number; readonly weight: number | null };

/**
 * Orders by weight, for the message with this hash: over many messages the first places are divided in proportion to
 * the weights, and so is the traffic that moves to the others where the first one fails. A change of one weight moves
 * no message between two others (weighted rendezvous hashing: each draws a time from an exponential distribution with
 * its weight as the rate).
 */
export function shareOut<T extends Sharer>(sharers: readonly T[], hash: number): T[] {
  if (sharers.length < 2) return [...sharers];
  return sharers
    .map((sharer) => ({ sharer, time: -Math.log(1 - unitOf(hash, sharer.id)) / (sharer.weight ?? 1) }))
    .sort((a, b) => a.time - b.time)
    .map(({ sharer }) => sharer);
}

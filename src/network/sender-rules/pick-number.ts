import { hash } from 'node:crypto';

const POOL = /^pool:([a-z0-9-]{1,20})$/;

/** Returns the name of the number pool in `pool:NAME`; null for a sender that names no pool. */
export const poolNameOf = (sender: string): string | null => POOL.exec(sender)?.[1] ?? null;

/**
 * Picks the number of a pool from which a recipient gets messages: the one whose hash with the recipient is the
 * highest. A number that is added or removed changes the choice only of those recipients whose number it becomes or was
 * (`insertSticky` makes the same choice). Undefined if the pool is empty.
 */
export function pickNumber(numbers: readonly string[], destination: string): string | undefined {
  let best: string | undefined;
  let highest = '';
  for (const number of numbers) {
    // For an even spread, not for secrecy: PostgreSQL has the same function.
    const value = hash('md5', `${destination}/${number}`);
    if (value > highest) [best, highest] = [number, value];
  }
  return best;
}

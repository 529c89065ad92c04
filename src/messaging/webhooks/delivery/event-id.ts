const SUFFIX_AT = 32;

/**
 * Makes the id of an event: the UUIDv7 of its row (`seed`), with the last 16 bits XORed with its place in the row.
 * Pure, so that a worker that takes over from a dead one sends the same event under the same `webhook-id`.
 */
export function eventIdOf(seed: string, place: number): string {
  const suffix = Number.parseInt(seed.slice(SUFFIX_AT), 16) ^ place;
  return seed.slice(0, SUFFIX_AT) + suffix.toString(16).padStart(4, '0');
}

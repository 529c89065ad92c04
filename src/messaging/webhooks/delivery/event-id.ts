const PLACE_AT = 32;

/**
 * The id of an event: a UUIDv7, as its row's seed is, with the last 16 bits turned by its place in the row. Pure, so
 * that a worker that takes over from a dead one sends the same event under the same `webhook-id`.
 */
export function eventIdOf(seed: string, place: number): string {
  const turned = Number.parseInt(seed.slice(PLACE_AT), 16) ^ place;
  return seed.slice(0, PLACE_AT) + turned.toString(16).padStart(4, '0');
}

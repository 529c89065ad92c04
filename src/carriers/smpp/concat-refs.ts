/**
 * Number of destinations kept, enough for the messages that can be in flight at a time; the oldest is removed first.
 */
const MAX_DESTINATIONS = 10_000;

/**
 * Creates a function that returns the next concatenation reference (16 bits) of a destination. Each destination has its
 * own counter, since a handset joins parts by sender and reference, and 8-bit references drawn at random collide after
 * about 20 messages. Counters start at a random value, so that two processes, or one after a restart, do not start with
 * the same value.
 */
export function createConcatRefs(): (destination: string) => number {
  const last = new Map<string, number>();
  return (destination) => {
    const ref = ((last.get(destination) ?? Math.floor(Math.random() * 0x10000)) + 1) & 0xffff;
    last.delete(destination);
    last.set(destination, ref);
    if (last.size > MAX_DESTINATIONS) forgetOldest(last);
    return ref;
  };
}

function forgetOldest(map: Map<string, number>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

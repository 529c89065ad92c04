/** Enough for the messages that can be in the air at a time; the oldest destination is forgotten first. */
const MOST_DESTINATIONS = 10_000;

/**
 * References of long messages: a counter for each destination, since a handset joins parts by sender and reference
 * and 8-bit references drawn at random collide after about 20 messages. Counters begin at a random place, so that
 * two processes, or one after a restart, do not begin alike.
 */
export function createConcatRefs(): (destination: string) => number {
  const last = new Map<string, number>();
  return (destination) => {
    const ref = ((last.get(destination) ?? Math.floor(Math.random() * 0x10000)) + 1) & 0xffff;
    last.delete(destination);
    last.set(destination, ref);
    if (last.size > MOST_DESTINATIONS) forgetOldest(last);
    return ref;
  };
}

function forgetOldest(map: Map<string, number>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

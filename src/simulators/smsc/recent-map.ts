export type RecentMap<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
};

/**
 * A map that keeps at least the newest `limit` entries and at most twice as many: when a generation is full, the one
 * before it goes. Deleting the oldest entry at each insert instead took 7 microseconds, as a Map skips every deleted
 * entry to find its first one.
 */
export function createRecentMap<Value>(limit: () => number): RecentMap<Value> {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      young.set(key, value);
      if (young.size < Math.max(1, limit())) return;
      old = young;
      young = new Map();
    },
  };
}

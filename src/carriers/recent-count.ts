const SLOTS = 10;

/** Counts events of the last `ms`, to a tenth of that time. `now` is in ms. */
export function createRecentCount(now: () => number, ms: number) {
  const slotMs = ms / SLOTS;
  const counts = new Int32Array(SLOTS);
  let slot = Math.floor(now() / slotMs);
  function advance(): void {
    const current = Math.floor(now() / slotMs);
    if (current === slot) return;
    for (let next = Math.max(slot + 1, current - SLOTS + 1); next <= current; next++) counts[next % SLOTS] = 0;
    slot = current;
  }
  return {
    add() {
      advance();
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
    },
    sum() {
      advance();
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

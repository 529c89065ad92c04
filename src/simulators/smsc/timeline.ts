/** Delayed work; see `createTimeline`. */
export type Timeline<Item> = {
  /** Runs `item` after `delayMs`, at most one step late. Items of the same step run in insertion order. */
  after(delayMs: number, item: Item): void;
  /** Returns the number of waiting items. */
  size(): number;
  /** Drops all waiting items. */
  stop(): void;
};

/**
 * Creates a scheduler without a timer per item: items wait in buckets of `stepMs`, and one timer empties the buckets
 * that are due. At 60,000 items per second, a timer for each would cost more than the messages themselves.
 */
export function createTimeline<Item>(run: (item: Item) => void, stepMs = 5): Timeline<Item> {
  const buckets = new Map<number, Item[]>();
  let cursor = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  function after(delayMs: number, item: Item): void {
    const now = performance.now();
    if (!timer) start(now);
    // Never a bucket that was emptied already: items added while a bucket runs go to the next one.
    const due = Math.max(Math.ceil((now + delayMs) / stepMs), cursor);
    const bucket = buckets.get(due);
    if (bucket) bucket.push(item);
    else buckets.set(due, [item]);
    waiting++;
  }

  function start(now: number): void {
    cursor = Math.floor(now / stepMs);
    timer = setTimeout(tick, stepMs);
  }

  function tick(): void {
    const last = Math.floor(performance.now() / stepMs);
    while (cursor <= last) runBucket(cursor++);
    timer = waiting > 0 ? setTimeout(tick, stepMs) : undefined;
  }

  function runBucket(number: number): void {
    const bucket = buckets.get(number);
    if (!bucket) return;
    buckets.delete(number);
    waiting -= bucket.length;
    for (const item of bucket) run(item);
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
    buckets.clear();
    waiting = 0;
  }

  return { after, size: () => waiting, stop };
}

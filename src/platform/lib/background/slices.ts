import { resume } from './loop-watch.ts';

/** Time for which work may hold the event loop before everything else that waits gets its turn. */
const SLICE_MS = 2;
/** Minimum number of items that are worth a wait for a turn. */
const MANY = 100;

/** Work that waits for a turn of the event loop, first come first served. */
const waiting: (() => void)[] = [];

function letOneGoOn(): void {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGoOn);
  next?.();
}

/**
 * Resolves in one of the next turns of the event loop, after the input and output that waits. In each turn only one of
 * all callers in the process goes on, so that a turn takes as long as one slice, however many large requests there are:
 * a single send needs some four turns until its response.
 */
export async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letOneGoOn);
  });
  resume();
}

/**
 * Maps the items in their order, in slices of about 2 ms, each in a separate turn of the event loop (`nextTurn`). Fewer
 * than a hundred items begin immediately. A call of `map` itself is not interrupted.
 */
export async function mapInSlices<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const results: R[] = [];
  if (items.length >= MANY) await nextTurn();
  let sliceEndsAt = performance.now() + SLICE_MS;
  // Not `entries()`: its pairs were 1 % of all garbage of a bulk send.
  for (let i = 0; i < items.length; i++) {
    results.push(map(items[i] as T, i));
    if (performance.now() < sliceEndsAt) continue;
    await nextTurn();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
  return results;
}

import { resume } from './loop-watch.ts';

/** How long work may hold the event loop before everything else that waits gets its turn. */
const SLICE_MS = 10;

/** Resolves in the next turn of the event loop, after the input and output that waits. */
export async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  resume();
}

/**
 * Maps the items in their order, in slices of about 10 ms with a turn of the event loop between them. A call of `map`
 * itself is not interrupted.
 */
export async function mapInSlices<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const results: R[] = [];
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (const [i, item] of items.entries()) {
    results.push(map(item, i));
    if (performance.now() < sliceEndsAt) continue;
    await nextTurn();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
  return results;
}

import { expect } from 'vitest';

/** Size of the large input as a multiple of the small one. */
const GROWTH = 16;
/** Linear work has the ratio 1, quadratic work 16. */
const MAX_RATIO = 5;
/** Long enough for the clock. */
const MIN_MEASURED_MS = 1;
const MEASUREMENTS = 15;

/**
 * Expects that the work for a hostile input takes CPU time in proportion to its size: an input of 16 times the size must
 * not take much longer than 16 inputs of that size. CPU time, because a busy machine interrupts the longer work more often. Choose a size for which quadratic work takes about 10 ms, some thousands
 * of characters.
 */
export async function expectLinear<T>(
  makeInput: (size: number) => T,
  work: (input: T) => unknown,
  size = 2_000,
): Promise<void> {
  const small = makeInput(size);
  const large = makeInput(size * GROWTH);
  const repeats = await repeatsFor(() => work(large));
  let [fastestSmall, fastestLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < MEASUREMENTS; i++) {
    fastestSmall = Math.min(fastestSmall, await timeOf(() => work(small), repeats * GROWTH));
    fastestLarge = Math.min(fastestLarge, await timeOf(() => work(large), repeats));
  }
  expect(fastestLarge / fastestSmall, 'time per character, as a multiple').toBeLessThan(MAX_RATIO);
}

/** Returns the number of runs of the work that one measurement needs. */
async function repeatsFor(work: () => unknown): Promise<number> {
  let repeats = 1;
  while ((await timeOf(work, repeats)) < MIN_MEASURED_MS) repeats *= 2;
  return repeats;
}

async function timeOf(work: () => unknown, repeats: number): Promise<number> {
  const start = process.cpuUsage();
  for (let i = 0; i < repeats; i++) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

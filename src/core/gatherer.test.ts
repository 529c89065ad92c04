import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createGatherer } from './background.ts';

type Gatherer<S> = ReturnType<typeof createGatherer<S>>;

const QUIET_MS = 5;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Lets everything run that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await settle();
}

const add = <S>(gatherer: Gatherer<S>, source: S, count: number): void => {
  for (let n = 0; n < count; n++) gatherer.add(source);
};

/** Begins a batch; returns how long it took until now, or null while it still waits. */
async function begin(gatherer: Gatherer<number>): Promise<() => number | null> {
  const beganAt = performance.now();
  let tookMs: number | null = null;
  void gatherer.gather().then(() => {
    tookMs = performance.now() - beganAt;
  });
  await settle();
  return () => tookMs;
}

test('a batch ends when nothing has come for the quiet time, counted from the last item', async () => {
  const gatherer = createGatherer<number>(QUIET_MS);
  add(gatherer, 1, 1);
  const tookMs = await begin(gatherer);
  await pass(4);
  add(gatherer, 1, 1);
  await pass(4);
  expect(tookMs()).toBeNull();
  await pass(1);
  expect(tookMs()).toBe(9);
});

test('a batch ends at once when its 300th item comes, and does not begin to wait when it has them', async () => {
  const gatherer = createGatherer<number>(QUIET_MS);
  add(gatherer, 1, 299);
  const tookMs = await begin(gatherer);
  expect(tookMs()).toBeNull();
  add(gatherer, 2, 1);
  await settle();
  expect(tookMs()).toBe(0);
  add(gatherer, 1, 300);
  expect((await begin(gatherer))()).toBe(0);
});

test('a batch ends after 50 ms although items keep coming', async () => {
  const gatherer = createGatherer<number>(QUIET_MS);
  add(gatherer, 1, 1);
  const tookMs = await begin(gatherer);
  for (let ms = 0; ms < 48; ms += 4) {
    await pass(4);
    add(gatherer, 1, 1);
  }
  expect(tookMs()).toBeNull();
  await pass(2);
  expect(tookMs()).toBe(50);
});

test('a batch ends immediately when a caller waits for it', async () => {
  let isAwaited = false;
  const gatherer = createGatherer<number>(QUIET_MS, () => isAwaited);
  add(gatherer, 1, 1);
  const tookMs = await begin(gatherer);
  gatherer.recheck();
  await settle();
  expect(tookMs()).toBeNull();
  isAwaited = true;
  gatherer.recheck();
  await settle();
  expect(tookMs()).toBe(0);
});

/** Batches of one source that sends `size` items, and the next ones only after the end of the batch. */
async function windows(gatherer: Gatherer<number>, size: number, count: number): Promise<(number | null)[]> {
  const took: (number | null)[] = [];
  for (let n = 0; n < count; n++) {
    gatherer.add(7);
    const tookMs = await begin(gatherer);
    add(gatherer, 7, size - 1);
    await settle();
    if (tookMs() === null) await pass(QUIET_MS);
    took.push(tookMs());
  }
  return took;
}

test.each([1, 2, 10])(
  'a source that stops after %i items until they get a response waits for three batches, then for each sixteenth',
  async (size) => {
    const took = await windows(createGatherer<number>(QUIET_MS), size, 47);
    const waited = took.flatMap((ms, n) => (ms === QUIET_MS ? [n] : []));
    expect(took.filter((ms) => ms === null)).toEqual([]);
    expect(waited).toEqual([0, 1, 2, 15, 31]);
  },
);

test('a source that stops next to one that never does is not slowed by it', async () => {
  const gatherer = createGatherer<number>(QUIET_MS);
  const batch = async (): Promise<number | null> => {
    gatherer.add(7);
    const tookMs = await begin(gatherer);
    for (let ms = 0; ms < 50 && tookMs() === null; ms += 2) {
      gatherer.add(8);
      await pass(2);
    }
    return tookMs();
  };
  expect([await batch(), await batch(), await batch(), await batch()]).toEqual([50, 50, 50, 0]);
});

test('a source that sends more than before is waited for again', async () => {
  const gatherer = createGatherer<number>(QUIET_MS);
  expect((await windows(gatherer, 2, 6)).at(-1)).toBe(0);
  gatherer.add(7);
  const tookMs = await begin(gatherer);
  await pass(QUIET_MS);
  expect(tookMs()).toBe(QUIET_MS);
  expect(await windows(gatherer, 2, 1)).toEqual([QUIET_MS]);
});

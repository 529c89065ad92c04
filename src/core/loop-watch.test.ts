import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { createLoopWatch, resume } from './background.ts';

const HELD_MS = 30;
/** Much longer than a stretch of `HELD_MS` takes on a busy machine. */
const OTHERS_MS = 500;
function holdLoop(ms = HELD_MS): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

let holds: { holder: string; ms: number }[] = [];
const watch = createLoopWatch((holder, ms) => holds.push({ holder, ms }));
beforeEach(() => {
  holds = [];
});
const longestOf = (name: string): number =>
  Math.max(0, ...holds.filter(({ holder }) => holder === name).map(({ ms }) => ms));

test('a stretch ends with the microtasks of its callback, and what runs in later callbacks does not count', async () => {
  await nextTurn();
  watch.begin('a');
  const later = Promise.resolve().then(async () => {
    await Promise.resolve();
    holdLoop();
  });
  const others = new Promise<void>((resolve) => {
    setImmediate(() => {
      holdLoop(OTHERS_MS);
      resolve();
    });
  });
  await later;
  await others;
  expect(holds).toHaveLength(1);
  expect(longestOf('a')).toBeGreaterThanOrEqual(HELD_MS);
  expect(holds[0]?.ms).toBeLessThan(OTHERS_MS);
});

test('code that goes on after a wait counts for whom it runs, where it says so', async () => {
  const ended = Promise.withResolvers<void>();
  watch.run('b', () => {
    void nextTurn().then(() => {
      resume();
      holdLoop();
      ended.resolve();
    });
  });
  await ended.promise;
  await nextTurn();
  expect(longestOf('b')).toBeGreaterThanOrEqual(HELD_MS);
  holds = [];
  resume();
  await nextTurn();
  expect(holds).toEqual([]);
});

test('of two that run in the same callback, each has its own time', async () => {
  await nextTurn();
  watch.begin('c');
  watch.begin('c');
  holdLoop();
  watch.begin('d');
  await nextTurn();
  expect(holds.map(({ holder }) => holder)).toEqual(['c', 'd']);
  expect(longestOf('c')).toBeGreaterThanOrEqual(HELD_MS);
});

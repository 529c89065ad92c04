import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { createSignal } from './background.ts';

/** Longer than any test may take: a wait that ends is proof of a raise. */
const NEVER_MS = 3_600_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a raise ends the current wait', async () => {
  const signal = createSignal();
  const waiting = signal.wait(NEVER_MS);
  signal.raise();
  await waiting;
});

test('a raise without a waiter is kept: the next wait ends immediately', async () => {
  const signal = createSignal();
  signal.raise();
  await signal.wait(NEVER_MS);
});

test('a wait lowers the flag: the one after it lasts until the next raise', async () => {
  const signal = createSignal();
  signal.raise();
  signal.raise();
  await signal.wait(NEVER_MS);
  let ended = false;
  const second = signal.wait(NEVER_MS).then(() => {
    ended = true;
  });
  await turn();
  expect(ended).toBe(false);
  signal.raise();
  await second;
});

test('without a raise the wait ends after its time', async () => {
  const signal = createSignal();
  const start = performance.now();
  await signal.wait(20);
  expect(performance.now() - start).toBeGreaterThanOrEqual(18);
});

test('a raise leaves no timer behind that would keep the process alive', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const signal = createSignal();
  const before = timers();
  const waiting = signal.wait(NEVER_MS);
  expect(timers()).toBe(before + 1);
  signal.raise();
  await waiting;
  expect(timers()).toBe(before);
});

propertyTest.prop([
  fc.array(fc.constantFrom('now', 'microtask', 'turn'), { minLength: 1, maxLength: 50, size: 'max' }),
])(
  'no wake-up is lost: after the last raise the waiting loop looks once more, whenever the raises come',
  async (raises) => {
    const signal = createSignal();
    let produced = 0;
    let seen = 0;
    const consumer = (async () => {
      while (seen < raises.length) {
        await signal.wait(NEVER_MS);
        seen = produced;
      }
    })();
    for (const when of raises) {
      if (when === 'microtask') await Promise.resolve();
      if (when === 'turn') await turn();
      produced++;
      signal.raise();
    }
    await consumer;
    expect(seen).toBe(raises.length);
  },
);

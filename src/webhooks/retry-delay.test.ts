import { expect, test } from 'vitest';
import { HOUR_MS } from '../core/time.ts';
import { retryDelayMs } from './send.ts';

test('ten repetitions follow, and then none', () => {
  const seconds = Array.from({ length: 11 }, (_, i) => retryDelayMs(i + 1, null, 0.5)).map((ms) => ms && ms / 1000);
  expect(seconds).toEqual([5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, null]);
});

test('each is moved by up to 20 % either way', () => {
  expect([retryDelayMs(1, null, 0), retryDelayMs(1, null, 1)]).toEqual([4000, 6000]);
});

test('none comes before the time that the receiver asked for, which is a day at most', () => {
  expect(retryDelayMs(1, HOUR_MS)).toBe(HOUR_MS);
  expect(retryDelayMs(1, 100 * HOUR_MS)).toBe(24 * HOUR_MS);
  expect(retryDelayMs(2, 1000, 0.5)).toBe(30_000);
  expect(retryDelayMs(11, HOUR_MS)).toBeNull();
});

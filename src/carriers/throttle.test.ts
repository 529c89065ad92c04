import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createThrottle } from './throttle.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Hits, and returns how long the pause takes. */
function pauseOf(throttle: ReturnType<typeof createThrottle>): number {
  throttle.hit();
  const ms = throttle.remainingMs();
  vi.advanceTimersByTime(ms);
  return ms;
}

test('the pause doubles to 30 s while the carrier goes on refusing, and is short again after a success', () => {
  const throttle = createThrottle(1000, () => undefined);
  expect(Array.from({ length: 7 }, () => pauseOf(throttle))).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  throttle.ease();
  expect(pauseOf(throttle)).toBe(1000);
});

test('many refusals of one burst make one pause', () => {
  const throttle = createThrottle(1000, () => undefined);
  for (let count = 0; count < 10; count += 1) throttle.hit();
  vi.advanceTimersByTime(1000);
  expect(throttle.remainingMs()).toBe(0);
  expect(pauseOf(throttle)).toBe(2000);
});

test('a carrier that took something of what was under way does not wait twice as long the next time', () => {
  const throttle = createThrottle(1000, () => undefined);
  throttle.hit();
  throttle.ease();
  vi.advanceTimersByTime(1000);
  expect(pauseOf(throttle)).toBe(1000);
  expect(pauseOf(throttle)).toBe(2000);
});

test('the end of the pause is announced once, when it is really over', () => {
  const left: number[] = [];
  const throttle = createThrottle(1000, () => left.push(throttle.remainingMs()));
  throttle.hit();
  vi.advanceTimersByTime(999);
  expect(left).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(left).toEqual([0]);
});

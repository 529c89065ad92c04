import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createThrottle } from './throttle.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Starts a pause, waits for its end and returns how long it took. */
function pauseOf(throttle: ReturnType<typeof createThrottle>): number {
  throttle.pause();
  const ms = throttle.remainingMs();
  vi.advanceTimersByTime(ms);
  return ms;
}

test('the pause doubles up to 30 s while the carrier keeps refusing, and is short again after a success', () => {
  const throttle = createThrottle(1000, () => undefined);
  expect(Array.from({ length: 7 }, () => pauseOf(throttle))).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  throttle.resetBackoff();
  expect(pauseOf(throttle)).toBe(1000);
});

test('many refusals in one burst cause one pause', () => {
  const throttle = createThrottle(1000, () => undefined);
  for (let count = 0; count < 10; count += 1) throttle.pause();
  vi.advanceTimersByTime(1000);
  expect(throttle.remainingMs()).toBe(0);
  expect(pauseOf(throttle)).toBe(2000);
});

test('the next pause does not double when the carrier took a message that was in flight', () => {
  const throttle = createThrottle(1000, () => undefined);
  throttle.pause();
  throttle.resetBackoff();
  vi.advanceTimersByTime(1000);
  expect(pauseOf(throttle)).toBe(1000);
  expect(pauseOf(throttle)).toBe(2000);
});

test('the end of the pause is reported once, when the pause is really over', () => {
  const left: number[] = [];
  const throttle = createThrottle(1000, () => left.push(throttle.remainingMs()));
  throttle.pause();
  vi.advanceTimersByTime(999);
  expect(left).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(left).toEqual([0]);
});

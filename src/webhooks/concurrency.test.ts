import { expect, test } from 'vitest';
import { type Concurrency, createConcurrency } from './account-queue.ts';

const times = (count: number, act: () => void): void => {
  for (let i = 0; i < count; i++) act();
};
const struck = (at = 0): Concurrency => {
  const pace = createConcurrency();
  times(10, () => pace.failed(at, 0));
  return pace;
};

test('a receiver that answers is asked more and more at once, up to 64', () => {
  const pace = createConcurrency();
  expect(pace.allowed(0)).toBe(8);
  times(10, pace.succeeded);
  expect(pace.allowed(0)).toBe(18);
  times(100, pace.succeeded);
  expect(pace.allowed(0)).toBe(64);
});

test.each([
  ['from the start', 0, [7, 6, 5, 4, 3, 2, 1, 1, 1]],
  ['from the maximum', 56, [56, 49, 42, 36, 31, 27, 23, 20, 17]],
])('each of nine failures %s lowers it by an eighth, rounded up, down to one', (_, successes, limits) => {
  const pace = createConcurrency();
  times(successes, pace.succeeded);
  const seen = limits.map(() => {
    pace.failed(0, 0);
    return pace.allowed(0);
  });
  expect(seen).toEqual(limits);
  pace.failed(0, 0);
  expect([pace.allowed(0), pace.allowed(1000)]).toEqual([0, 1]);
});

test('failures lower it, ten in a row begin a pause, and what fails during the pause does not prolong it', () => {
  const pace = createConcurrency();
  pace.failed(0, 0);
  expect(pace.allowed(0)).toBe(7);
  times(9, () => pace.failed(0, 0));
  times(60, () => pace.failed(10, 0));
  expect([pace.allowed(999), pace.allowed(1000)]).toEqual([0, 1]);
});

test('each failed probe doubles the pause, up to a minute', () => {
  const pace = struck();
  let at = 1000;
  const pauses = Array.from({ length: 8 }, () => {
    pace.failed(at, 0);
    const start = at;
    while (pace.allowed(at) === 0) at += 1000;
    return (at - start) / 1000;
  });
  expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
});

test('one success ends it all', () => {
  const pace = struck();
  expect(pace.isFailing()).toBe(true);
  pace.succeeded();
  expect([pace.allowed(0), pace.isFailing()]).toEqual([2, false]);
});

test('a receiver that asks to be left alone is, for a minute at most', () => {
  const pace = createConcurrency();
  pace.failed(0, 3_600_000);
  expect([pace.allowed(59_999), pace.allowed(60_000)]).toEqual([0, 7]);
});

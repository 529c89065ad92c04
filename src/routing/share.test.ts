import { expect, test } from 'vitest';
import { newId, newSingleId } from '../core/ids.ts';
import { hashOf, shareOut, unitOf } from './choice.ts';

const ROUTES = [
  { id: 11, weight: 70 },
  { id: 12, weight: 20 },
  { id: 13, weight: 10 },
];
const MESSAGES = 20_000;

/** Counts how many of these keys have each place first, by the id of the route. */
function countFirst(keys: readonly string[], routes = ROUTES, place = 0): Map<number, number> {
  const counts = new Map<number, number>();
  for (const key of keys) {
    const id = shareOut(routes, hashOf(key, 0))[place]?.id ?? 0;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Checks the share within five standard deviations: a fair division fails once in two million runs. */
function expectShare(count: number, share: number, of = MESSAGES): void {
  expect(Math.abs(count - share * of)).toBeLessThan(5 * Math.sqrt(of * share * (1 - share)));
}

test.each([
  ['in bulk', newId],
  ['single messages', () => newSingleId()],
  ['numbers', (_: unknown, i: number) => `+39333${1_000_000 + i}`],
])('the weights hold for the ids of %s', (_, keyAt) => {
  const counts = countFirst(Array.from({ length: MESSAGES }, keyAt));
  for (const { id, weight } of ROUTES) expectShare(counts.get(id) ?? 0, weight / 100);
});

test('what falls to the others where the first one fails is divided by their weights too', () => {
  const keys = Array.from({ length: MESSAGES }, () => newId()).filter(
    (key) => shareOut(ROUTES, hashOf(key, 0))[0]?.id === 11,
  );
  const second = countFirst(keys, ROUTES, 1);
  expectShare(second.get(12) ?? 0, 2 / 3, keys.length);
});

test('the same key goes the same way, whatever the order of the routes', () => {
  for (const key of Array.from({ length: 100 }, () => newId()))
    expect(shareOut(ROUTES.toReversed(), hashOf(key, 0))).toEqual(shareOut(ROUTES, hashOf(key, 0)));
});

test('a route that is removed moves only its own messages', () => {
  const left = ROUTES.slice(0, 2);
  for (const key of Array.from({ length: 500 }, () => newId())) {
    const [before] = shareOut(ROUTES, hashOf(key, 0));
    if (before?.id !== 13) expect(shareOut(left, hashOf(key, 0))[0]).toBe(before);
  }
});

test('another campaign distributes the same numbers again', () => {
  const keys = Array.from({ length: 1000 }, (_, i) => `+39333${1_000_000 + i}`);
  const moved = keys.filter((key) => shareOut(ROUTES, hashOf(key, 1))[0] !== shareOut(ROUTES, hashOf(key, 2))[0]);
  // 46 % of independent draws differ.
  expect(moved.length).toBeGreaterThan(350);
});

test('units are spread evenly from 0 to below 1', () => {
  const units = Array.from({ length: MESSAGES }, () => unitOf(hashOf(newId(), 0), 7));
  for (const tenth of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expectShare(units.filter((unit) => Math.floor(unit * 10) === tenth).length, 0.1);
});

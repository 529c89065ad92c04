import { expect, test } from 'vitest';
import { findClosedPeriod, type OpenHours } from './rules.ts';

const WEEK: OpenHours[] = [1, 2, 3, 4, 5].flatMap((weekday) => [
  { weekday, from: 9 * 60, to: 13 * 60 },
  { weekday, from: 14 * 60, to: 18 * 60 },
]);
const closedAt = (at: string, openHours = WEEK, timeZone = 'Europe/Rome') =>
  findClosedPeriod({ timeZone, openHours }, new Date(at));

test.each(['2026-11-26T08:00:00Z', '2026-11-26T11:59:59Z', '2026-11-26T13:00:00Z', '2026-11-26T16:59:00Z'])(
  'at %s the account is open',
  (at) => {
    expect(closedAt(at)).toBeNull();
  },
);

test('the break, the night and the weekend are closed periods of their own, each with one name', () => {
  const [lunch, lunchLater] = [closedAt('2026-11-26T12:00:00Z'), closedAt('2026-11-26T12:59:00Z')];
  expect([lunch, lunchLater]).toEqual(['2026-11-26/780', '2026-11-26/780']);
  expect([closedAt('2026-11-26T17:00:00Z'), closedAt('2026-11-27T07:59:00Z')]).toEqual([
    '2026-11-26/1080',
    '2026-11-26/1080',
  ]);
  const weekend = ['2026-11-27T17:00:00Z', '2026-11-28T12:00:00Z', '2026-11-29T22:59:00Z', '2026-11-30T07:59:00Z'];
  expect(new Set(weekend.map((at) => closedAt(at)))).toEqual(new Set(['2026-11-27/1080']));
});

test('a period in which the clocks change keeps its name', () => {
  // In Italy summer time ended on 25 October 2026, a Sunday.
  expect(closedAt('2026-10-24T12:00:00Z')).toBe('2026-10-23/1080');
  expect(closedAt('2026-10-26T07:30:00Z')).toBe('2026-10-23/1080');
});

test('one day a week: the closed period begins a week ago at its end', () => {
  const monday = [{ weekday: 1, from: 600, to: 660 }];
  expect(closedAt('2026-11-30T08:59:00Z', monday)).toBe('2026-11-23/660');
  expect(closedAt('2026-11-30T09:30:00Z', monday)).toBeNull();
});

test('hours until the end of the day join those of the next day', () => {
  const always = [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from: 0, to: 1440 }));
  for (const at of ['2026-11-26T22:59:59Z', '2026-11-26T23:00:00Z']) expect(closedAt(at, always)).toBeNull();
});

test('an account without hours is never closed', () => {
  expect(closedAt('2026-11-29T03:00:00Z', [])).toBeNull();
});

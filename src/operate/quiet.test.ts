import { expect, test } from 'vitest';
import { clockOf, isQuiet, minuteOf } from './alert-targets.ts';

const NIGHT = { quietFrom: minuteOf('22:00'), quietTo: minuteOf('07:00'), timeZone: 'Europe/Rome' };

test.each([
  ['2026-01-10T20:59:00Z', false],
  ['2026-01-10T21:00:00Z', true],
  ['2026-01-11T05:59:00Z', true],
  ['2026-01-11T06:00:00Z', false],
  // In summer the same clock is an hour earlier in UTC.
  ['2026-07-10T20:00:00Z', true],
])('a quiet time over midnight is kept in its own time zone: %s is quiet: %s', (at, quiet) => {
  expect(isQuiet(NIGHT, new Date(at))).toBe(quiet);
});

test('a quiet time within a day, and none', () => {
  const noon = new Date('2026-01-10T11:30:00Z');
  const lunch = { quietFrom: minuteOf('12:00'), quietTo: minuteOf('13:00'), timeZone: 'Europe/Rome' };
  expect(isQuiet(lunch, noon)).toBe(true);
  expect(isQuiet({ ...lunch, timeZone: 'UTC' }, noon)).toBe(false);
  expect(isQuiet({ ...lunch, quietFrom: null, quietTo: null }, noon)).toBe(false);
  expect(clockOf(minuteOf('07:05'))).toBe('07:05');
});

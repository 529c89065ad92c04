import { expect, test } from 'vitest';
import { instantAt, wallTimeAt } from './draft.ts';

test('a local time is converted to its instant in the zone, in summer and in winter', () => {
  expect(instantAt('2027-01-31T09:00', 'Europe/Rome')?.toISOString()).toBe('2027-01-31T08:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'Europe/Rome')?.toISOString()).toBe('2027-07-31T07:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'America/New_York')?.toISOString()).toBe('2027-07-31T13:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'Asia/Kolkata')?.toISOString()).toBe('2027-07-31T03:30:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'UTC')?.toISOString()).toBe('2027-07-31T09:00:00.000Z');
});

test('on the days when clocks change, the hours before and after have their own offset', () => {
  expect(instantAt('2027-03-28T01:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T00:30:00.000Z');
  expect(instantAt('2027-03-28T03:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T01:30:00.000Z');
  expect(instantAt('2027-10-31T01:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-30T23:30:00.000Z');
  expect(instantAt('2027-10-31T03:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-31T02:30:00.000Z');
});

test('a skipped time is moved an hour later, and of a repeated time the first is used', () => {
  expect(instantAt('2027-03-28T02:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T01:30:00.000Z');
  expect(instantAt('2027-10-31T02:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-31T00:30:00.000Z');
});

test('an invalid time gives null, and an instant converts back to the entered time', () => {
  expect(instantAt('', 'Europe/Rome')).toBeNull();
  const instant = instantAt('2027-06-01T18:45', 'Australia/Adelaide') ?? new Date(0);
  expect(wallTimeAt(instant, 'Australia/Adelaide')).toBe('2027-06-01T18:45');
});

import { expect, test } from 'vitest';
import { instantAt, wallTimeAt } from './time-zone.ts';

test('a time of the clock is the instant at which the clocks of the zone show it, in summer and in winter', () => {
  expect(instantAt('2027-01-31T09:00', 'Europe/Rome')?.toISOString()).toBe('2027-01-31T08:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'Europe/Rome')?.toISOString()).toBe('2027-07-31T07:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'America/New_York')?.toISOString()).toBe('2027-07-31T13:00:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'Asia/Kolkata')?.toISOString()).toBe('2027-07-31T03:30:00.000Z');
  expect(instantAt('2027-07-31T09:00', 'UTC')?.toISOString()).toBe('2027-07-31T09:00:00.000Z');
});

test('on the days on which clocks change, the hours before and after keep their own offset', () => {
  expect(instantAt('2027-03-28T01:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T00:30:00.000Z');
  expect(instantAt('2027-03-28T03:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T01:30:00.000Z');
  expect(instantAt('2027-10-31T01:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-30T23:30:00.000Z');
  expect(instantAt('2027-10-31T03:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-31T02:30:00.000Z');
});

test('a time that clocks skip is taken an hour later, and of one that they show twice the first', () => {
  expect(instantAt('2027-03-28T02:30', 'Europe/Rome')?.toISOString()).toBe('2027-03-28T01:30:00.000Z');
  expect(instantAt('2027-10-31T02:30', 'Europe/Rome')?.toISOString()).toBe('2027-10-31T00:30:00.000Z');
});

test('what is no time is none, and an instant reads back as the time that was entered', () => {
  expect(instantAt('', 'Europe/Rome')).toBeNull();
  const instant = instantAt('2027-06-01T18:45', 'Australia/Adelaide') ?? new Date(0);
  expect(wallTimeAt(instant, 'Australia/Adelaide')).toBe('2027-06-01T18:45');
});

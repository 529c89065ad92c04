import { expect, test } from 'vitest';
import { ALL_WEEKDAYS, faultOfHours, type Hours, openingOf } from './routes.ts';

const hours = (more: Partial<Hours> = {}): Hours => ({
  from: '08:00',
  to: '20:00',
  timeZone: 'Europe/Rome',
  weekdays: ALL_WEEKDAYS,
  ...more,
});

/** Returns those of these instants that are within the hours. */
const openAt = (some: Hours, ...times: readonly string[]): string[] => {
  const isOpen = openingOf(some);
  return times.filter((time) => isOpen(Date.parse(time)));
};

test('hours begin with their first minute and end before their last, by the clock of the zone', () => {
  const winter = ['2027-01-15T06:59:59Z', '2027-01-15T07:00:00Z', '2027-01-15T18:59:59Z', '2027-01-15T19:00:00Z'];
  expect(openAt(hours(), ...winter)).toEqual(winter.slice(1, 3));
  const summer = ['2027-07-15T05:59:59Z', '2027-07-15T06:00:00Z', '2027-07-15T17:59:59Z', '2027-07-15T18:00:00Z'];
  expect(openAt(hours(), ...summer)).toEqual(summer.slice(1, 3));
});

test('at a change of the clock the hours follow the clock', () => {
  const night = hours({ from: '02:00', to: '03:30' });
  // 28 March 2027: at 01:00 UTC it becomes 03:00, so 02:00 to 03:00 does not exist.
  const spring = ['2027-03-28T00:59:00Z', '2027-03-28T01:00:00Z', '2027-03-28T01:29:00Z', '2027-03-28T01:30:00Z'];
  expect(openAt(night, ...spring)).toEqual(spring.slice(1, 3));
  // 31 October 2027: at 01:00 UTC it becomes 02:00 again, so 02:00 to 03:00 comes twice.
  const autumn = ['2027-10-30T23:59:00Z', '2027-10-31T00:00:00Z', '2027-10-31T01:30:00Z', '2027-10-31T02:30:00Z'];
  expect(openAt(night, ...autumn)).toEqual(autumn.slice(1, 3));
});

test('hours over midnight belong to the day on which they begin', () => {
  const fridays = hours({ from: '22:00', to: '06:00', weekdays: [5] });
  // 15 January 2027 is a Friday.
  const times = [
    '2027-01-14T22:00:00Z',
    '2027-01-15T21:00:00Z',
    '2027-01-16T04:59:00Z',
    '2027-01-16T05:00:00Z',
    '2027-01-16T21:30:00Z',
  ];
  expect(openAt(fridays, ...times)).toEqual(times.slice(1, 3));
  const sundays = hours({ from: '22:00', to: '06:00', weekdays: [7] });
  expect(openAt(sundays, '2027-01-18T04:00:00Z')).toHaveLength(1);
});

test('days without hours are whole, also the one on which the clock is changed', () => {
  const sunday = hours({ from: '00:00', to: '24:00', weekdays: [7] });
  const times = ['2027-03-27T22:59:00Z', '2027-03-27T23:00:00Z', '2027-03-28T21:59:00Z', '2027-03-28T22:00:00Z'];
  expect(openAt(sunday, ...times)).toEqual(times.slice(1, 3));
});

test('the result changes with the minute, in whatever order instants are asked for', () => {
  const isOpen = openingOf(hours());
  const times = ['2027-01-15T07:00:00Z', '2027-01-15T06:59:00Z', '2027-01-15T07:00:30Z'];
  expect(times.map((time) => isOpen(Date.parse(time)))).toEqual([true, false, true]);
});

test.each([
  [{ from: '8:00' }, 'must be two times'],
  [{ to: '24:01' }, 'must be two times'],
  [{ from: '24:00' }, 'must be two times'],
  [{ to: '08:00' }, 'different times'],
  [{ timeZone: 'Europe/Atlantis' }, 'Europe/Atlantis is not a time zone'],
  [{ weekdays: [] }, 'days of the week'],
  [{ weekdays: [2, 1] }, 'days of the week'],
  [{ weekdays: [8] }, 'days of the week'],
])('hours with %j are refused: %s', (more, fault) => {
  expect(faultOfHours(hours(more))).toContain(fault);
});

test('hours that end at midnight or on the next day are taken', () => {
  expect([hours({ to: '24:00' }), hours({ from: '20:00', to: '08:00' })].map(faultOfHours)).toEqual([
    undefined,
    undefined,
  ]);
});

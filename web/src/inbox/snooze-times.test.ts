import { expect, test } from 'vitest';
import { snoozeTimes } from './dialogs.tsx';

const local = (instant: Date): string => `${instant.toDateString()} ${instant.getHours()}`;

test('the offered times are in three hours, and at nine tomorrow and on the next Monday', () => {
  const thursday = new Date(2026, 10, 26, 15);
  expect(snoozeTimes(thursday).map(({ until }) => local(until))).toEqual([
    'Thu Nov 26 2026 18',
    'Fri Nov 27 2026 9',
    'Mon Nov 30 2026 9',
  ]);
});

test('on a Monday the next one is a week later, on a Sunday it is tomorrow', () => {
  const monday = snoozeTimes(new Date(2026, 10, 30, 8));
  expect(monday.map(({ until }) => local(until)).at(-1)).toBe('Mon Dec 07 2026 9');
  const sunday = snoozeTimes(new Date(2026, 10, 29, 8));
  expect(sunday.map(({ until }) => local(until)).at(-1)).toBe('Mon Nov 30 2026 9');
});

import { expect, test } from 'vitest';
import { lastDays, monthOf, readDays } from './traffic.tsx';

const NOW = Date.parse('2028-03-01T00:30:00Z');

test('the last days end today, and months have all of their days', () => {
  expect(lastDays(1, NOW)).toEqual({ from: '2028-03-01', to: '2028-03-01' });
  expect(lastDays(30, NOW)).toEqual({ from: '2028-02-01', to: '2028-03-01' });
  expect(monthOf(NOW, 0)).toEqual({ from: '2028-03-01', to: '2028-03-31' });
  expect(monthOf(NOW, 1)).toEqual({ from: '2028-02-01', to: '2028-02-29' });
  expect(monthOf(NOW, 3)).toEqual({ from: '2027-12-01', to: '2027-12-31' });
});

test('days from an address are put in order, and replaced if they are none', () => {
  expect(readDays({ from: '2028-01-05', to: '2028-01-02' }, NOW)).toEqual({ from: '2028-01-02', to: '2028-01-05' });
  for (const from of ['', '2028-1-5', '2028-13-01', 'x']) {
    expect(readDays({ from, to: '2028-01-02' }, NOW), from).toEqual(lastDays(30, NOW));
  }
});

import { expect, test } from 'vitest';
import { mayBeIn, prefixesIn } from './phone.ts';

test('numbers are in networks of their own country, and may be in any that is not known', () => {
  expect(mayBeIn('22201', '39')).toBe(true);
  expect(mayBeIn('22201', '49')).toBe(false);
  expect([mayBeIn('310260', '1'), mayBeIn('302720', '1'), mayBeIn('310260', '39')]).toEqual([true, true, false]);
  expect(['590', '594', '596', '33'].map((code) => mayBeIn('34001', code))).toEqual([true, true, true, false]);
  expect(mayBeIn('90188', '39')).toBe(true);
  expect(mayBeIn('22201', null)).toBe(false);
});

test('a prefix is narrowed to the country of the network, and stays where it is longer or does not fit', () => {
  expect(prefixesIn('22201', '')).toEqual(['39']);
  expect(prefixesIn('26201', '4')).toEqual(['49']);
  expect(prefixesIn('22201', '39333')).toEqual(['39333']);
  expect(prefixesIn('34001', '').toSorted()).toEqual(['590', '594', '596']);
  expect(prefixesIn('90188', '')).toEqual(['']);
  expect(prefixesIn('22201', '44')).toEqual(['44']);
});

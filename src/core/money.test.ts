import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromMicros, toMicros } from './money.ts';

test.each([
  [0, 0],
  [0.035, 35_000],
  [0.000001, 1],
  [-12.5, -12_500_000],
  [1_000_000_000, 1_000_000_000_000_000],
  [1.1, 1_100_000],
])('%d is %d micro-units, exactly', (amount, micros) => {
  expect(toMicros(amount)).toBe(micros);
  expect(fromMicros(micros)).toBe(amount);
});

test.each([
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e30,
  -1e30,
  1e10,
  0.0000001,
  1e-10,
  0.0350001,
])('%d is no amount', (amount) => {
  expect(toMicros(amount)).toBeNull();
});

propertyTest.prop([fc.integer({ min: -1e15, max: 1e15 })])(
  'every number of micro-units comes back from its amount, also by way of its decimal text',
  (micros) => {
    expect(toMicros(fromMicros(micros))).toBe(micros);
    const [sign, digits] = [micros < 0 ? '-' : '', String(Math.abs(micros)).padStart(7, '0')];
    expect(toMicros(Number(`${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`))).toBe(micros);
  },
);

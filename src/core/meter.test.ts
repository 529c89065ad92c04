import { expect, test } from 'vitest';
import { createMeter } from './limits.ts';

const at = (seconds: number): Date => new Date(1_800_000_000_000 + seconds * 1000);

test('the first reading has nothing to compare with, the second has', () => {
  const meter = createMeter();
  expect(meter.read('a', at(0), [100, 5])).toBeNull();
  expect(meter.read('b', at(5), [100, 5])).toBeNull();
  expect(meter.read('a', at(10), [150, 5])).toEqual([5, 0]);
});

test('the rate is that of the last minute, however long the readings go back', () => {
  const meter = createMeter();
  for (let second = 0; second < 100; second += 10) meter.read('a', at(second), [second < 50 ? 0 : second * 7]);
  meter.read('a', at(110), [0 + 110 * 7]);
  expect(meter.read('a', at(170), [170 * 7])).toEqual([7]);
});

test('rare callers get the mean since the previous call, up to five minutes', () => {
  const meter = createMeter();
  meter.read('a', at(0), [0]);
  expect(meter.read('a', at(240), [480])).toEqual([2]);
  expect(meter.read('a', at(541), [480])).toBeNull();
});

test('two concurrent callers do not get a rate of zero', () => {
  const meter = createMeter();
  meter.read('a', at(0), [0]);
  expect(meter.read('a', at(0.2), [1])).toBeNull();
  expect(meter.read('a', at(4), [8])).toEqual([2]);
});

test('a counter that was corrected downwards does not grow', () => {
  const meter = createMeter();
  meter.read('a', at(0), [10]);
  expect(meter.read('a', at(10), [9])).toEqual([0]);
});

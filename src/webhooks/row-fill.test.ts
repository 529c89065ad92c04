import { expect, test } from 'vitest';
import { createRowFill } from './outbox.ts';

test('as many rows are loaded as hold the events, by how full the last ones were', () => {
  const fill = createRowFill();
  expect(fill.rowsFor(1000)).toBe(2);
  fill.loaded([1, 1]);
  expect(fill.rowsFor(1000)).toBe(1000);
  fill.loaded([]);
  expect(fill.rowsFor(1000)).toBe(1000);
  fill.loaded([2, 6]);
  expect(fill.rowsFor(1000)).toBe(250);
  expect(fill.rowsFor(0)).toBe(0);
});

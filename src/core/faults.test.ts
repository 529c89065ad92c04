import { expect, test } from 'vitest';
import { faultPoint } from './faults.ts';

test('a program started without --import, as every one of an operator, takes no faults, and its parts are its own', () => {
  const point = faultPoint<string>();
  expect(() => point.put((part) => `faulty ${part}`)).toThrow('--import');
  expect(point.pass('part')).toBe('part');
});

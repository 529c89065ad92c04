import { expect, test } from 'vitest';
import { valueIn } from './source-values.ts';

const SOURCE = `
const MIB = 1024 * 1024;
export const MAX_BYTES = 16 * MIB;
const MAX_FRAME = 1 << 20;
const WAIT_MS = 2 * HOUR_MS;
export const LIMITS = {
  rows: 2_000_000,
} as const;
const limit = Type.Integer({ minimum: 1, maximum: 4_320 });
const NAME = 'text';
`;

test.each([
  ['MAX_BYTES', 16 * 1024 * 1024],
  ['MAX_FRAME', 1024 * 1024],
  ['WAIT_MS', 7_200_000],
  ['rows', 2_000_000],
  [/limit = .*maximum: ([\d_]+)/, 4320],
])('the number at %s is read as the program has it', (place, value) => {
  expect(valueIn(SOURCE, place, 'a.ts')).toBe(value);
});

test.each([
  ['GONE', 'a.ts: GONE is there 0 times'],
  [/const (M)/, 'is there 3 times'],
  ['NAME', '"\'text\'" is no number'],
])('a place without one number, %s, is an error, so that no page states what the code has not', (place, message) => {
  expect(() => valueIn(SOURCE, place, 'a.ts')).toThrow(message);
});

import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { expectLinear } from '../../../test/support/linear.ts';
import { findJsonFault } from './body.ts';

const MAX_VALUES = 10;
const fault = (text: string, maxValues = MAX_VALUES) => findJsonFault(Buffer.from(text), maxValues);
const objectOf = (fields: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: fields }, (_, i) => [`k${i}`, 1])));

test.each([
  ['values', '[1,2,3,4,5,6,7,8,9]', '[1,2,3,4,5,6,7,8,9,10]', 'too_many_values'],
  ['levels', `${'['.repeat(64)}${']'.repeat(64)}`, '['.repeat(65), 'too_deep'],
  ['fields of one object', `[${objectOf(1_000)},${objectOf(1_000)}]`, objectOf(1_001), 'too_many_fields'],
])('%s up to the limit are accepted, and one more is not', (name, accepted, refused, expected) => {
  const maxValues = name === 'values' ? MAX_VALUES : 10_000;
  expect(fault(accepted, maxValues)).toBeNull();
  expect(fault(refused, maxValues)).toBe(expected);
});

test('what is written inside a string does not count', () => {
  const text = '[{:,'.repeat(1_000);
  expect(fault(JSON.stringify([text, `"${text}\\`, text]))).toBeNull();
});

test.each([
  ['"\\u0000"', 'nul'],
  ['{"\\u0000":1}', 'nul'],
  ['"\\\\\\u0000"', 'nul'],
  ['"\\\\u0000"', null],
  ['"\\u0001"', null],
  ['"\\ud83d\\ude00"', null],
  ['"\\uD83D\\uDE00"', null],
  ['"\\ud83d"', 'surrogate'],
  ['"\\ude00"', 'surrogate'],
  ['"\\ud83d\\ud83d\\ude00"', 'surrogate'],
  ['"\\ud83d x\\ude00"', 'surrogate'],
  ['"\\\\ud83d"', null],
] as const)('the text %s has the fault %s', (text, expected) => {
  expect(fault(text)).toBe(expected);
});

propertyTest.prop([fc.string({ unit: 'binary' })])('a text is refused for its characters alone', (text) => {
  const isStorable = text.isWellFormed() && !text.includes('\0');
  expect(fault(JSON.stringify({ [text]: [text] })) === null).toBe(isStorable);
});

test.each([
  ['backslashes', (size: number) => `"${'\\'.repeat(size)}`],
  ['half surrogate pairs', (size: number) => `"${'\\ud83d\\ude00'.repeat(size / 12)}`],
  ['quotes', (size: number) => '"'.repeat(size)],
  ['empty lists', (size: number) => `[${'[],'.repeat(size / 3)}`],
])('%s take time in proportion to their length', async (_, makeText) => {
  await expectLinear(
    (size) => Buffer.from(makeText(size)),
    (bytes) => findJsonFault(bytes, Number.POSITIVE_INFINITY),
    20_000,
  );
});

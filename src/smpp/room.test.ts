import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { countParts, lastPartRoom, nonGsmCharacters } from './text.ts';

test.each([
  ['', 160, 160],
  ['a'.repeat(160), 160, 0],
  ['a'.repeat(161), 153, 145],
  ['€'.repeat(80), 160, 0],
  ['ж', 70, 69],
  ['ж'.repeat(71), 67, 63],
])('%j has parts of %i units, and room for %i more', (text, perPart, remaining) => {
  expect(lastPartRoom(text)).toEqual({ perPart, remaining });
});

const text = fc
  .array(fc.constantFrom('a', 'b', '€', 'ж', '😀'), { maxLength: 400, size: 'max' })
  .map((c) => c.join(''));
propertyTest.prop([text])('what fits makes no part more, and one more does', (body) => {
  const { parts, alphabet } = countParts(body);
  const { remaining } = lastPartRoom(body);
  const one = alphabet === 'gsm7' ? 'a' : 'ж';
  expect(countParts(body + one.repeat(remaining)).parts).toBe(parts);
  expect(countParts(body + one.repeat(remaining + 1)).parts).toBe(parts + 1);
});

test('the characters that force UCS-2 are returned once each', () => {
  expect(nonGsmCharacters('Hello ж€ж “x” 😀')).toEqual(['ж', '“', '”', '😀']);
  expect(nonGsmCharacters('Hello €[~]')).toEqual([]);
});

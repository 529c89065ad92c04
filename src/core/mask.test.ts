import { expect, test } from 'vitest';
import { maskNumber, maskNumbersIn } from './phone.ts';

test('a phone number keeps its country and its last two digits', () => {
  expect(maskNumber('+393511234512')).toBe('+39351*****12');
  expect(maskNumber('393511234512')).toBe('39351*****12');
});

test('a short code shows a third of its digits, and anything that is not a number shows nothing', () => {
  expect(maskNumber('40404')).toBe('4*****');
  expect(maskNumber('12')).toBe('*****');
  expect(maskNumber('Secret word')).toBe('*****');
});

test('no number stays readable in a text, wherever it is', () => {
  const text = 'Key (to)=(+393511234512) and 393511234512, not 2026 nor 12345678901234567890';
  expect(maskNumbersIn(text)).toBe('Key (to)=(+39351*****12) and 39351*****12, not 2026 nor 12345678901234567890');
});

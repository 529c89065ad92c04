import { expect, test } from 'vitest';
import { isPhoneCountry, parsePhone } from './phone-details.ts';

test.each([
  ['+39 333 123 4567', null, '+393331234567'],
  ['0039 (333) 123-4567', null, '+393331234567'],
  ['393331234567', null, '+393331234567'],
  [' 333.123.4567 ', 'IT', '+393331234567'],
  ['393331234567', 'IT', '+393331234567'],
  ['+12025550123', 'IT', '+12025550123'],
  ['(202) 555-0123', 'US', '+12025550123'],
  ['07700 900123', 'GB', '+447700900123'],
  ['06 1234567', 'IT', '+39061234567'],
] as const)('%j with the country %j is %s', (text, country, e164) => {
  expect(parsePhone(text, country)?.e164).toBe(e164);
});

test.each(['', 'abc', '12', '+39 12', '+999123456789', '+393331234567 ext. 5', 'call +393331234567', '+'.repeat(300)])(
  '%j is no number',
  (text) => {
    expect(parsePhone(text, null)).toBeNull();
    expect(parsePhone(text, 'IT')).toBeNull();
  },
);

test('type, country and validity come from the numbering plan', () => {
  expect(parsePhone('+393331234567', null)).toEqual({
    e164: '+393331234567',
    isValid: true,
    type: 'MOBILE',
    country: 'IT',
  });
  expect(parsePhone('+390612345678', null)).toMatchObject({ type: 'FIXED_LINE', country: 'IT' });
  expect(parsePhone('+80012345678', null)).toMatchObject({ isValid: true, type: 'TOLL_FREE', country: null });
  expect(parsePhone('+447700900123', null)).toMatchObject({ isValid: false, type: null });
});

test('a country is two capital letters with a numbering plan', () => {
  expect(['IT', 'US', 'it', 'XX', ''].map(isPhoneCountry)).toEqual([true, true, false, false, false]);
});

import { expect, test } from 'vitest';
import { DEFAULT_NUMBER_RULES, describeNumber, isPhoneCountry, parsePhone } from './phone.ts';

const of = (defaultCountry: string) => ({ ...DEFAULT_NUMBER_RULES, defaultCountry });

test('type, country and validity come from the numbering plan', () => {
  expect(parsePhone('+393331234567')).toEqual({
    e164: '+393331234567',
    isValid: true,
    type: 'MOBILE',
    country: 'IT',
  });
  expect(parsePhone('+390612345678')).toMatchObject({ type: 'FIXED_LINE', country: 'IT' });
  expect(parsePhone('+80012345678')).toMatchObject({ isValid: true, type: 'TOLL_FREE', country: null });
  expect(parsePhone('+447700900123')).toMatchObject({ isValid: false, type: null });
});

test('a national number is described like its international form', () => {
  expect(parsePhone('333 1234567', of('IT'))).toEqual(parsePhone('+393331234567'));
  expect(parsePhone('(202) 555-0123', of('US'))).toMatchObject({ e164: '+12025550123', country: 'US' });
});

test('a number that cannot be read is described by its fault', () => {
  expect(parsePhone('3331234567')).toBeNull();
  expect(describeNumber('3331234567', DEFAULT_NUMBER_RULES)).toEqual({ fault: 'no_country_code' });
});

test('a country is two capital letters with a numbering plan', () => {
  expect(['IT', 'US', 'it', 'XX', ''].map(isPhoneCountry)).toEqual([true, true, false, false, false]);
});

import { expect, test } from 'vitest';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { type NumberCleaning, readCleanNumber } from './import-cleaning.ts';

const NONE: NumberCleaning = { countries: [], plus: false, extract: false };

function read(text: string, defaultCountry: string | null, cleaning: Partial<NumberCleaning> = {}): string {
  const found = readCleanNumber(text, { ...DEFAULT_NUMBER_RULES, defaultCountry }, { ...NONE, ...cleaning });
  if ('fault' in found) return found.cause;
  return `${found.phone.e164}${found.change ? ` ${found.change.cure} ${found.change.country ?? ''}`.trimEnd() : ''}`;
}

test('with the country of the file, national numbers are read in the notations of people, and the change is named', () => {
  for (const text of ['3331781527', '333 178 1527', '333/1781527', '39-333/1781527', '393331781527', '(333) 178.15.27'])
    expect(read(text, 'IT'), text).toBe('+393331781527 country IT');
  expect(read('+39 333 1781527', 'IT')).toBe('+393331781527');
  expect(read('0039 333 1781527', 'IT')).toBe('+393331781527');
});

test('without a cure, a faulty number stays faulty, with its cause', () => {
  expect(read('3331781527', null)).toBe('no_country_code');
  expect(read('tel. 333 1781527', 'IT')).toBe('not_a_number');
  expect(read('+39 333 12', 'IT')).toBe('impossible_length');
  expect(read('+9991234567', 'IT')).toBe('unknown_country_code');
});

test('each cure reads only what is faulty otherwise, and only a valid number', () => {
  expect(read('447911123456', 'IT')).toBe('no_country_code');
  expect(read('447911123456', 'IT', { plus: true })).toBe('+447911123456 plus');
  expect(read('3331781527', 'IT', { countries: ['GB'] })).toBe('+393331781527 country IT');
  expect(read('07911 123456', null, { countries: ['GB', 'IT'] })).toBe('+447911123456 country GB');
  expect(read('12', 'IT', { plus: true, countries: ['GB', 'FR'], extract: true })).not.toContain('+');
});

test('a number is found in a longer text, and the first valid one of several counts', () => {
  const cleaning = { extract: true };
  expect(read('tel. 333 1781527 (office)', 'IT', cleaning)).toBe('+393331781527 extract');
  expect(read('333 1781527 / 335 1234567', 'IT', cleaning)).toBe('+393331781527 extract');
  expect(read('call me on +44 7911 123456 please', 'IT', cleaning)).toBe('+447911123456 extract');
  expect(read('unknown', 'IT', cleaning)).toBe('not_a_number');
});

test('a number that a spreadsheet has rounded is never read, whatever is allowed', () => {
  for (const text of ['3.93332E+11', '3,93332E+11', '4E+10'])
    expect(read(text, 'IT', { plus: true, countries: ['GB'], extract: true })).toBe('rounded');
});

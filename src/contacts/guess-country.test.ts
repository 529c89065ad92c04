import { expect, test } from 'vitest';
import { guessCountry } from './import-cleaning.ts';

function guess(
  numbers: string[],
  { names = ['phone'], emails = [] as string[], accountCountry = null as string | null } = {},
) {
  const rows = numbers.map((number, i) => [number, emails[i] ?? '']);
  return guessCountry({ names, rows, numberAt: 0, accountCountry }).country;
}

test('numbers with a country code say of which country the others are', () => {
  expect(guess(['3331781527', '3351234567', '+39 333 1781528'])).toBe('IT');
  expect(guess(['3331781527', '39-335/1234567'])).toBe('IT');
  expect(guess(['0176 12345678', '+49 151 12345678'])).toBe('DE');
});

test('without such numbers, mail addresses and the language of the column names do', () => {
  expect(guess(['3331781527', '3351234567'], { emails: ['a@posta.it', 'b@gmail.com'] })).toBe('IT');
  expect(guess(['0176 12345678', '0151 12345678'], { names: ['handynummer', 'vorname'] })).toBe('DE');
});

test('a country whose numbers are others is not guessed, and nothing is guessed without a sign', () => {
  expect(guess(['3331781527', '3351234567'], { emails: ['a@shop.fr', 'b@shop.fr'] })).toBeNull();
  expect(guess(['3331781527'])).toBeNull();
});

test('the country of the account comes first, unless another one reads more of the numbers', () => {
  expect(guess(['3331781527', '+49 151 12345678'], { accountCountry: 'IT' })).toBe('IT');
  expect(guess(['0176 12345678', '0151 12345678', '+49 151 12345679'], { accountCountry: 'IT' })).toBe('DE');
  expect(guess([], { accountCountry: 'IT' })).toBe('IT');
});

import { expect, test } from 'vitest';
import { isMatch } from './search-dialog.tsx';

test.each([
  ['Import contacts', 'imp con'],
  ['Import contacts', 'CONTACTS'],
  ['Unità e città', 'citta'],
  ['API keys · Account', 'acc key'],
  ['Überblick', 'uber'],
  ['Anything', ' '],
])('“%s” is found by “%s”', (title, text) => {
  expect(isMatch(title, text)).toBe(true);
});

test.each([
  ['Import contacts', 'port'],
  ['Import contacts', 'import media'],
])('“%s” is not found by “%s”', (title, text) => {
  expect(isMatch(title, text)).toBe(false);
});

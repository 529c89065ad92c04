import { expect, test } from 'vitest';
import { findRule, type Matcher, plainText } from './keywords.ts';

const rule = (keyword: string, number: string | null = null): Matcher => ({ keyword, number });
const RULES = [rule('info'), rule('info club'), rule('*'), rule('info', '4400'), rule('vote 1', '4400')];
const found = (text: string, number = '4401'): string => {
  const { keyword, number: own } = findRule(RULES, { number, text }) ?? { keyword: '-', number: null };
  return own === null ? keyword : `${keyword} at ${own}`;
};

test.each([
  ['INFO', 'info'],
  ['  Info please', 'info'],
  ['info, please', 'info'],
  ['Info\n Club!', 'info club'],
  ['information', '*'],
  ['please info', '*'],
  ['', '*'],
])('a message begins with its keyword as a whole word, in any case: %j', (text, keyword) => {
  expect(found(text)).toBe(keyword);
});

test('rules for the number go before those for any number', () => {
  expect(found('info club', '4400')).toBe('info at 4400');
  expect(found('Vote 1', '4400')).toBe('vote 1 at 4400');
  expect(found('Vote 10', '4400')).toBe('*');
});

test('without a rule nothing is found', () => {
  expect(findRule([rule('info')], { number: '4400', text: 'hello' })).toBeUndefined();
});

test('a keyword is compared in one form', () => {
  expect(['BİLGİ', 'bilgi', 'BILGI', 'bılgı', 'ＢＩＬＧＩ', 'Bi\u200dlgi\ufe0f'].map(plainText)).toEqual(
    Array(6).fill('bilgi'),
  );
  expect([plainText('  CAFE\u0301  Bar '), plainText('café bar')]).toEqual(['café bar', 'café bar']);
});

import { expect, test } from 'vitest';
import { countParts } from '../smpp/text.ts';
import { ALPHABETS, makeCode } from './secrets.ts';
import { languageFor, smsText, textFaults, TEXTS } from './texts.ts';

const languages = Object.keys(TEXTS);
const brand = 'AcmeBankEU1';

test('the text of each language is one part of GSM 03.38 with a brand of 11 characters, and begins with the code', () => {
  expect(languages.length).toBeGreaterThanOrEqual(30);
  expect(brand).toHaveLength(11);
  const found = languages.map((language) => {
    const text = smsText({ brand, ttl: 900, autofill: { web: 'example.com' } }, language, '1234567890');
    const { parts, alphabet } = countParts(text);
    return { language, parts, alphabet, isEarly: text.startsWith('1234567890'), hasLink: /https?:|www\./.test(text) };
  });
  expect(found).toEqual(
    languages.map((language) => ({ language, parts: 1, alphabet: 'gsm7', isEarly: true, hasLink: false })),
  );
});

test('the last line fills the code into a page, and the one before it into an Android app', () => {
  const autofill = { web: 'example.com', android: 'FA+9qCX9VSu' };
  const lines = smsText({ brand, ttl: 600, autofill }, 'en', '123456').split('\n');
  expect(lines.slice(1)).toEqual(['FA+9qCX9VSu', '', '@example.com #123456']);
});

test.each([
  [{ en: 'Your code' }, 'locales.en', 'must contain {{code}}'],
  [{ en: '{{code}} {{name}}' }, 'locales.en', 'there is no {{name}}'],
  [{ ru: `{{code}} — ваш код для ${'очень '.repeat(10)}` }, 'locales.ru', 'must fit into one SMS'],
])('own texts %j are refused', (locales, field, message) => {
  expect(textFaults({ brand, ttl: 600, locales }, 6)).toEqual([{ field, message: expect.stringContaining(message) }]);
});

test('the language of a tag is its own, its base or English', () => {
  const own = { locales: { 'pt-BR': '{{code}} x' } };
  expect(['pt-BR', 'pt-PT', 'de_AT', 'zh', undefined].map((tag) => languageFor(own, tag))).toEqual([
    'pt-BR',
    'pt',
    'de',
    'en',
    'en',
  ]);
});

test('codes have all characters of their alphabet about equally often, and are none of those that are taken', () => {
  const codes = Array.from({ length: 5000 }, () => makeCode(4, 'letters')).join('');
  const counts = [...ALPHABETS.letters].map((letter) => codes.split(letter).length - 1);
  const usual = codes.length / ALPHABETS.letters.length;
  expect(counts.every((count) => Math.abs(count - usual) < usual / 4)).toBe(true);
  const taken = Array.from({ length: 9999 }, (_, n) => String(n).padStart(4, '0'));
  expect(makeCode(4, 'digits', taken)).toBe('9999');
});

import { expect, test } from 'vitest';
import { countParts } from '../smpp/text.ts';
import { smartText, strictFault } from './smart-encoding.ts';

test('typographic marks, spaces and invisible characters no longer cost double, and each is reported', () => {
  expect(smartText('L’offre «\u202fExtra\u202f» – jusqu’à 20\u00a0%…\u200b')).toEqual({
    text: `L'offre " Extra " - jusqu'à 20 %...`,
    replaced: [
      { from: '’', to: "'", count: 2 },
      { from: '«', to: '"', count: 1 },
      { from: '\u202f', to: ' ', count: 2 },
      { from: '»', to: '"', count: 1 },
      { from: '–', to: '-', count: 1 },
      { from: '\u00a0', to: ' ', count: 1 },
      { from: '…', to: '...', count: 1 },
      { from: '\u200b', to: '', count: 1 },
    ],
  });
});

test.each([
  ['a text in GSM 03.38', 'Olà { } €'],
  ['letters with another meaning', 'año “sólo” más'],
  ['emoji, whose parts stay together', 'See you 👨\u200d👩\u200d👧 …'],
  ['a text that would need more parts', '…'.repeat(70)],
])('%s stays as it is', (_, text) => {
  expect(smartText(text)).toEqual({ text, replaced: [] });
});

test('every replacement is in GSM 03.38, and what is replaced is not', () => {
  let count = 0;
  for (let code = 0; code < 0x10000; code++) {
    const character = String.fromCodePoint(code);
    const { text, replaced } = smartText(`a${character}`);
    if (replaced.length === 0) continue;
    count++;
    expect(countParts(text).alphabet, character).toBe('gsm7');
    expect(countParts(character).alphabet, character).toBe('ucs2');
    expect(character, 'no letter becomes another one').not.toMatch(/^[\p{L}--[\p{Lm}]]$/v);
  }
  expect(count).toBeGreaterThan(120);
});

test('the first character that is missing is named, with its place', () => {
  expect(strictFault('Olà')).toBeNull();
  expect(strictFault('Dès l’aube – “hop”')).toBe(
    'the text has a character outside GSM 03.38: ’ (U+2019) at position 6',
  );
});

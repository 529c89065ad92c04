import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { csvLine, readCell } from './csv.ts';

/** A cell as a spreadsheet reads it, which takes commas for separators and quotes for quotes. */
const writtenCell = (text: string): string => {
  const line = csvLine([text]).slice(0, -2);
  return line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line;
};

test('cells are quoted where they must be', () => {
  expect(csvLine(['a', 'b c', '', '1,5', 'say "x"', 'two\nlines'])).toBe('a,b c,,"1,5","say ""x""","two\nlines"\r\n');
});

describe('what a spreadsheet would take for a formula is shown as it is', () => {
  test.each([
    '=1+1',
    '+1-1',
    '-1+1',
    '@SUM(A1)',
    '=HYPERLINK("http://x")',
    '+39333123456x',
    ' =1',
    '＝1',
    '\u00a0=1',
    '\ufeff=1',
    '\u200b=1',
    '\u2060\u00ad=1',
    '\u3164=1',
    '﹦1',
    '"=1',
  ])('at the beginning of a cell: %j', (cell) => {
    expect(csvLine([cell])).toBe(`"'${cell.replaceAll('"', '""')}"\r\n`);
  });

  test.each([
    ["Mario;=cmd|' /C calc'!A0;x", "Mario;'=cmd|' /C calc'!A0;x"],
    ['a|@SUM(A1)', "a|'@SUM(A1)"],
    ['a\t=1', "a\t'=1"],
    ['a\n=1', "a\n'=1"],
    ['a\r\n-1', "a\r\n'-1"],
    ['a;\u200b =1', "a;'\u200b =1"],
    ['a;"=1"', 'a;\'"=1"'],
    ['a;;=1;=2', "a;;'=1;'=2"],
    ['=1;=2', "'=1;'=2"],
    ['\t=1', "'\t'=1"],
    ['\r=1', "'\r'=1"],
    ['\n=1', "'\n'=1"],
    ['\tx', "'\tx"],
  ])('behind a separator in a cell: %j', (cell, written) => {
    expect(writtenCell(cell)).toBe(written);
  });
});

test.each(['a=1', 'a - b', 'x; y', '1;2|3', 'a, =1', 'me@example.com', "it's", 'a\nb', '+393331234567'])(
  'any other text stays as it is: %j',
  (cell) => {
    expect(writtenCell(cell)).toBe(cell);
  },
);

const hostile = fc
  .array(fc.constantFrom('=', '+', '@', "'", '"', ';', '|', '\t', '\n', '\r', ' ', '\u200b', 'a', ','), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));

propertyTest.prop([fc.oneof(hostile, fc.string({ unit: 'binary' }))])(
  'a cell that is read back is the text that was written',
  (text) => {
    expect(readCell(writtenCell(text))).toBe(text);
  },
);

propertyTest.prop([hostile])('no part of a cell begins with a sign, whatever separates the parts', (text) => {
  for (const separator of [/[\r\n]/, /[;\r\n]/, /[|\r\n]/, /[\t\r\n]/])
    for (const part of writtenCell(text).split(separator)) expect(part).not.toMatch(/^[\s"\u200b]*[=+@]/);
});

test('a text of separators and blanks takes time in proportion to its length', () => {
  for (const filling of ['\n', ' ', ';', "'", '\n '])
    expect(readCell(writtenCell(filling.repeat(500_000)))).toHaveLength(500_000 * filling.length);
});

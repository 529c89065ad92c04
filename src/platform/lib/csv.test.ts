import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test('cells are quoted where they must be', () => {
  expect(csvLine(['a', 'b c', '', '1,5', 'say "x"', 'two\nlines'])).toBe('a,b c,,"1,5","say ""x""","two\nlines"\r\n');
});

test.each([
  '=1+1',
  '+1-1',
  '-1+1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '=HYPERLINK("http://x")',
  '+39333123456x',
  ' =1',
  '\n=1',
  '＝1',
])('a cell that a spreadsheet would take for a formula shows as it is: %j', (cell) => {
  expect(csvLine([cell])).toBe(`"'${cell.replaceAll('"', '""')}"\r\n`);
});

test('a number in E.164 stays as it is', () => {
  expect(csvLine(['+393331234567'])).toBe('+393331234567\r\n');
});

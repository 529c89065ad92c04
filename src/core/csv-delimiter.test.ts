import { expect, test } from 'vitest';
import { detectDelimiter } from './csv.ts';

test.each([
  ['a,b\n1,2\n', ','],
  ['a;b\n"1,5";2\n', ';'],
  ['a\tb c\n1\t2\n', '\t'],
  ['a|b\n1|2\n', '|'],
  ['name;note\nAnna;x, y, z\nBert;\n', ';'],
  ['phoneNumber\n+391\n', ','],
  ['"a;b;c",d\n"e;f;g",h\n', ','],
])('the delimiter is recognised from the first lines: %j', (text, delimiter) => {
  expect(detectDelimiter(text)).toBe(delimiter);
});

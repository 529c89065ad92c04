import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { csvLine } from '../core/csv.ts';
import { readCsv } from './import-tables.ts';

const read = (text: string, chunk = 7) =>
  Array.fromAsync(
    readCsv(async function* () {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
    }, 'utf-8'),
  );
const cellsOf = async (text: string) => (await read(text)).map(({ cells }) => cells);

test('the line in which Excel declares the delimiter is used, and is not a row', async () => {
  expect(await read('sep=;\r\na,b;c\r\n1;2\r\n')).toEqual([
    { line: 2, cells: ['a,b', 'c'] },
    { line: 3, cells: ['1', '2'] },
  ]);
});

test('every row has the line where it begins: after empty lines, line ends within quotes, and with all three kinds of line ends', async () => {
  const rows = await read('a,b\r\n\r\n1,2\r\n"x\r\ny",3\r\n\n\n4,5\n6,7\r8,9\n\n"p\n\n\nq",1\n2,3');
  expect(rows.map(({ line }) => line)).toEqual([1, 3, 4, 8, 9, 10, 12, 16]);
  expect(rows[2]?.cells).toEqual(['x\r\ny', '3']);
});

test('quotes within a cell stay, rows may be of any length', async () => {
  expect(await cellsOf('a,b"c,"d""e"\n1\n1,2,3,4\n')).toEqual([['a', 'b"c', 'd"e'], ['1'], ['1', '2', '3', '4']]);
});

test('a quote that is not closed and a row that does not end are refused with the line', async () => {
  await expect(read('a,b\n1,2\n3,"4\n5,6\n')).rejects.toThrow('line 3: a quote is not closed');
  await expect(read(`a,b\n1,"${'x\n'.repeat(40_000)}`, 4096)).rejects.toThrow('line 2: the row is longer than 64 KiB');
});

property.prop([fc.array(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 2, maxLength: 4 }), { maxLength: 8 })])(
  'what is written as CSV is read as it was',
  async (rows) => {
    const plain = rows
      .map((cells) => cells.map((cell) => `a${cell.replaceAll(/[;\t|]/g, '')}`))
      .map((cells) => ['x', ...cells]);
    expect(await cellsOf(plain.map(csvLine).join(''))).toEqual(plain);
  },
);

import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cell, type CellValue, writeXlsx } from 'hucre/xlsx';
import { afterAll, expect, test } from 'vitest';
import { makeXlsx, makeZip } from '../../test/support/files/archive.ts';
import { expectLinear } from '../../test/support/linear.ts';
import { readXlsx } from './import-xlsx.ts';

const folder = mkdtempSync(join(tmpdir(), 'heliograph-xlsx-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(bytes: Uint8Array) {
  const path = join(folder, 'file');
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  try {
    return await Array.fromAsync(readXlsx(fd, bytes.length));
  } finally {
    closeSync(fd);
  }
}
const sheet = (rows: CellValue[][]) => writeXlsx({ sheets: [{ name: 'Contacts', rows }] });

test('files of another program are read: texts, numbers, booleans, dates, empty cells and rows', async () => {
  const birthday = new Date(Date.UTC(1990, 1, 28));
  const rows = await read(
    await sheet([
      ['phoneNumber', 'name', 'vip'],
      [393331234567, 'Żółć & <b> "x" 𝄞', true, birthday],
      [],
      [null, null, 7.5],
    ]),
  );
  expect(rows).toEqual([
    { line: 1, cells: ['phoneNumber', 'name', 'vip'] },
    { line: 2, cells: ['393331234567', 'Żółć & <b> "x" 𝄞', 'true', '1990-02-28'] },
    { line: 4, cells: ['', '', '7.5'] },
  ]);
});

test('a formula is read as its saved result', async () => {
  const cells = new Map<string, Partial<Cell>>([['1,0', { formula: 'HYPERLINK("http://x","y")', formulaResult: 'y' }]]);
  const bytes = await writeXlsx({ sheets: [{ name: 'S', rows: [['phoneNumber'], ['']], cells }] });
  expect(await read(bytes)).toEqual([
    { line: 1, cells: ['phoneNumber'] },
    { line: 2, cells: ['y'] },
  ]);
});

test('rich texts are joined, phonetic readings left out, and escapes of Excel decoded', async () => {
  const strings =
    '<si><r><t>An</t></r><r><rPr><b/></rPr><t>na</t></r><rPh sb="0" eb="1"><t>no</t></rPh></si><si><t>a_x0041_</t></si>';
  const bytes = makeXlsx(
    '<row r="3"><c r="B3" t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>x</t></is></c></row>',
    { strings },
  );
  expect(await read(bytes)).toEqual([{ line: 3, cells: ['', 'Anna', 'aA', 'x'] }]);
});

test('phone numbers that Excel saves with an exponent are complete', async () => {
  expect(await read(makeXlsx('<row r="1"><c r="A1"><v>3.93331234567E11</v></c></row>'))).toEqual([
    { line: 1, cells: ['393331234567'] },
  ]);
});

const xml = '<row r="1"><c r="A1"><v>1</v></c></row>';
const entry = (name: string, text: string, more = {}) => ({ name, content: Buffer.from(text), ...more });
const BROKEN: [what: string, bytes: () => Uint8Array, message: string][] = [
  ['a file cut short', () => makeXlsx(xml).subarray(0, 300), 'is damaged'],
  ['a directory that leads nowhere', () => makeZip([entry('a', 'x', { offset: 5000 })]), 'is not an XLSX file'],
  ['an archive of something else', () => makeZip([entry('word/document.xml', '<w/>')]), 'is not an XLSX file'],
  ['packed bytes that are none', () => makeXlsx(xml, { sheet: { corrupt: true } }), 'is damaged'],
  ['another sum than the directory says', () => makeXlsx(xml, { sheet: { crc: 1 } }), 'is damaged'],
  ['more than the directory says', () => makeXlsx(xml, { sheet: { bytes: 3 } }), 'is damaged'],
  ['a password', () => makeXlsx(xml, { sheet: { flags: 1 } }), 'is encrypted'],
  ['an unknown way of packing', () => makeXlsx(xml, { sheet: { method: 12 } }), 'Excel does not use'],
  ['XML that does not end', () => makeXlsx('<row r="1"><c r="A1"><v>1'), 'is damaged'],
  [
    'a cell in the last column of Excel',
    () => makeXlsx('<row r="1"><c r="XFD1"><v>1</v></c></row>'),
    'more than 200 columns',
  ],
  [
    'a cell of a hundred thousand characters',
    () => makeXlsx(`<row><c t="str"><v>${'x'.repeat(100_000)}</v></c></row>`),
    'is longer than 64 KiB',
  ],
  ['a tag without end', () => makeXlsx(`<row ${'x'.repeat(400_000)}`), 'is damaged'],
];
test.each(BROKEN)('%s is refused', async (_, bytes, message) => {
  await expect(read(bytes())).rejects.toThrow(message);
});

test('an archive that declares more than 64 MiB uncompressed is refused before anything is read', async () => {
  await expect(read(makeXlsx(xml, { sheet: { bytes: 70 * 1024 * 1024 } }))).rejects.toThrow(
    'is larger than 64 MiB uncompressed',
  );
});

test('reading stops at the byte where a file is larger than its directory says', async () => {
  const bytes = makeXlsx(' '.repeat(100 * 1024 * 1024), { sheet: { bytes: 100 } });
  await expect(read(bytes)).rejects.toThrow('is damaged');
});

test('a workbook that uses one large file for everything is refused for the total size', async () => {
  const rows = '<x/>'.repeat(10 * 1024 * 1024);
  await expect(read(makeXlsx(rows, { stringsAt: 'worksheets/sheet1.xml' }))).rejects.toThrow(
    'is larger than 64 MiB uncompressed',
  );
});

test('elements may be nested at any depth, and custom entities are ignored', async () => {
  const deep = `${'<x>'.repeat(200_000)}${'</x>'.repeat(200_000)}`;
  const rows = await read(makeXlsx(`${deep}<row r="1"><c t="str"><v>&lol9;&#65;&#x110000;</v></c></row>`));
  expect(rows).toEqual([{ line: 1, cells: ['&lol9;A&#x110000;'] }]);
});

test('empty cells with a format far to the right are ignored', async () => {
  expect(await read(makeXlsx('<row r="1"><c r="A1"><v>1</v></c><c r="XFD1" s="1"/></row>'))).toEqual([
    { line: 1, cells: ['1'] },
  ]);
});

test('a number format of open brackets takes time in proportion to its length', async () => {
  const withFormat = (size: number) =>
    makeXlsx('', { styles: `<numFmts><numFmt numFmtId="164" formatCode="${'['.repeat(size)}"/></numFmts>` });
  await expectLinear(withFormat, read);
});

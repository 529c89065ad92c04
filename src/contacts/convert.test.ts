import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeXlsx } from '../../test/support/files/archive.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { readFile } from './import-reader.ts';
import { unpackRows } from './import-rows.ts';
import { type Conversion, convertFile } from './import-thread.ts';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-convert-');
});
afterAll(() => rm(folder, { recursive: true }));

const OPTIONS = { removeHead: null, mapping: {}, fields: [], rules: DEFAULT_NUMBER_RULES, previewRows: 1 };

/** Reads a text with one of the two functions, and returns the table and the rows of each chunk. */
async function read(
  content: string | Uint8Array,
  by: (conversion: Conversion) => ReturnType<typeof convertFile> = convertFile,
  { kind = 'table', fileName = 'a.csv' }: Partial<Pick<Conversion, 'kind' | 'fileName'>> = {},
) {
  await using source = await openTemporaryFile(folder);
  await using chunks = await openTemporaryFile(folder);
  await source.writeFile(content);
  const made = await by({ source: source.fd, chunks: chunks.fd, kind, fileName, options: OPTIONS });
  const rows = [];
  for (const { offset, bytes } of made.chunks) {
    const content = Buffer.alloc(bytes);
    await chunks.read(content, 0, bytes, offset);
    rows.push(unpackRows(content));
  }
  return { ...made, rows };
}

const csvOf = (count: number, rest = ''): string =>
  `phone,note\n${Array.from({ length: count }, (_, i) => `+39333${1_000_000 + i},${rest}`).join('\n')}\n`;

test('rows come in chunks of 2,000, in their order', async () => {
  const { rows, total } = await read(csvOf(4500));
  expect([total, rows.map((chunk) => chunk.length)]).toEqual([4500, [2000, 2000, 500]]);
  expect(rows.flat().map(({ line }) => line)).toEqual(Array.from({ length: 4500 }, (_, i) => i + 2));
});

test('long rows come in smaller chunks, and a row with too many cells keeps only those of the columns', async () => {
  const { rows } = await read(`${csvOf(300, 'x'.repeat(60_000))}+393339999999,a${',b'.repeat(20_000)}\n`);
  expect(Math.max(...rows.map((chunk) => chunk.length))).toBeLessThan(100);
  expect(rows.flat().at(-1)?.cells).toEqual(['+393339999999', 'a']);
});

const BAD_FILES: [what: string, content: string | Uint8Array, fileName: string, says: string][] = [
  ['a text called .xlsx', 'phone\n+393331234567\n', 'a.xlsx', 'is named .xlsx, but is not an XLSX file'],
  [
    'an archive called .csv',
    makeXlsx('<row/>'),
    'a.csv',
    'is named as a text file, but is an archive: the name of an XLSX file must end with .xlsx',
  ],
  [
    'an old Excel file',
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    'a.xlsx',
    'is an old Excel file, or has a password: save it as XLSX without a password',
  ],
  ['vCards among tables', 'BEGIN:VCARD\nEND:VCARD\n', 'a', 'is a vCard: send it to /contacts/upload/vcard'],
];
test.each(BAD_FILES)('%s is refused with its reason', async (_, content, fileName, says) => {
  await expect(read(content, convertFile, { fileName })).rejects.toThrow(`file: ${says}`);
});

test('a table among vCards is refused with its reason', async () => {
  const table = read('phone\n+39333\n', convertFile, { kind: 'vcard', fileName: 'a' });
  await expect(table).rejects.toThrow('file: must be a vCard file (.vcf, .vcard)');
});

test('a separate thread gives the same result, and returns faults of the file as such', async () => {
  const inThread = (conversion: Conversion) => readFile(1, conversion);
  expect(await read(csvOf(3), inThread)).toEqual(await read(csvOf(3)));
  await expect(read('phone\n"x', inThread)).rejects.toMatchObject({
    code: 'invalid',
    message: 'file: line 2: a quote is not closed',
  });
});

test('a file that takes more memory than the thread may use is refused, and the program keeps running', async () => {
  const small = (conversion: Conversion) => readFile(1, conversion, { heap: { maxOldGenerationSizeMb: 12 } });
  await expect(read(csvOf(200_000), small)).rejects.toMatchObject({
    code: 'invalid',
    message: 'file: takes too much memory to read',
  });
});

test('large files of one account do not keep the file of another one waiting', async () => {
  const ended: string[] = [];
  const all = Promise.withResolvers<void>();
  let written = 0;
  const readAs = async (name: string, accountId: number, rows: number): Promise<void> => {
    await read(csvOf(rows), async (conversion) => {
      if (++written === 3) all.resolve();
      await all.promise;
      // With other limits no file gets a thread that is loaded already.
      return readFile(accountId, conversion, { heap: { maxOldGenerationSizeMb: 256 } });
    });
    ended.push(name);
  };
  await Promise.all([readAs('first of A', 1, 5000), readAs('second of A', 1, 5001), readAs('first of B', 2, 1)]);
  // The file of A that is read first depends on which of them is written first.
  expect(ended.at(-1)).toMatch(/of A$/);
});

test('a temporary file has no name, so no other program can find it', async () => {
  await using file = await openTemporaryFile(folder);
  await file.write('secret');
  expect(await readdir(join(folder, 'uploads'))).toEqual([]);
});

import { fstatSync, readSync, writeSync } from 'node:fs';
import { type TablePreview, checkTable, previewTable, type Table, type TableOptions } from '../check-table.ts';
import { type CheckedRow, MAX_CHUNK_LENGTH, MAX_CHUNK_ROWS, lengthOf, packRows } from '../rows.ts';
import { decoded, detectEncoding, type Octets } from './encoding.ts';
import { badFile, LIMITS, type RawRow, tooLarge } from '../limits.ts';
import { readOctets } from './octets.ts';
import { readCsv } from './read-csv.ts';
import { readVcard, VCARD_COLUMNS } from './read-vcard.ts';
import { readXlsx } from './read-xlsx.ts';

/** What the request says the file is. Whether a table is CSV or XLSX is detected from the content. */
export type FileKind = 'table' | 'vcard';

export type Conversion = {
  /** The descriptor of the open file to read: threads share descriptors. */
  readonly source: number;
  /** The descriptor of the open file to which the chunks are written. */
  readonly chunks: number;
  readonly kind: FileKind;
  readonly fileName: string;
  readonly options: TableOptions;
};

/** Where a chunk of rows is in the file of chunks. */
export type ChunkPlace = { readonly offset: number; readonly bytes: number };
export type Converted = Table & { readonly chunks: readonly ChunkPlace[] };

/**
 * Reads and checks a file of contacts, and writes its rows, in chunks, to another file. Memory does not grow with the
 * size of the file, except for the phone numbers, which are remembered to find duplicates.
 * Errors: 400 or 413 if the file as a whole is faulty.
 */
export async function convertFile({ source, chunks, kind, fileName, options }: Conversion): Promise<Converted> {
  const { rows, head } = await openRows(source, kind, fileName);
  const writer = createChunkWriter(chunks);
  let table: Table | undefined;
  const tableOptions = head ? { ...options, removeHead: true, mapping: {} } : options;
  for await (const row of checkTable(head ? withHead(head, rows) : rows, tableOptions, (made) => (table = made)))
    writer.write(row);
  if (!table) throw new Error('the table is known when its rows end');
  return { ...table, chunks: writer.end() };
}

/** Reads how the table of a file begins; nothing is written. Errors: as of `convertFile`. */
export async function previewFile({
  source,
  fileName,
  options,
}: Omit<Conversion, 'chunks' | 'kind'>): Promise<TablePreview> {
  const { rows } = await openRows(source, 'table', fileName);
  return previewTable(rows, options);
}

type Rows = { readonly rows: AsyncIterable<RawRow>; readonly head?: readonly string[] };

const NAMES: Readonly<Record<FileKind, RegExp>> = { table: /\.(?:csv|tsv|txt|xlsx)$/i, vcard: /\.(?:vcf|vcard)$/i };
const KINDS: Readonly<Record<FileKind, string>> = {
  table: 'a CSV or XLSX file (.csv, .tsv, .txt, .xlsx)',
  vcard: 'a vCard file (.vcf, .vcard)',
};
const ZIP = '504b0304';
const EMPTY_ZIP = '504b0506';
const OLE = 'd0cf11e0';

async function openRows(fd: number, kind: FileKind, fileName: string): Promise<Rows> {
  const { size } = fstatSync(fd);
  if (size === 0) throw badFile('is empty');
  if (/\.[^.\s]{1,8}$/.test(fileName) && !NAMES[kind].test(fileName))
    throw badFile(`must be ${KINDS[kind]}, as its name says`);
  const mark = readSignature(fd);
  if (mark === OLE) throw badFile('is an old Excel file, or has a password: save it as XLSX without a password');
  if (mark === ZIP || mark === EMPTY_ZIP) return { rows: openXlsx(fd, size, kind, fileName) };
  if (/\.xlsx$/i.test(fileName)) throw badFile('is named .xlsx, but is not an XLSX file');
  return openText(fd, size, kind);
}

function readSignature(fd: number): string {
  const mark = Buffer.alloc(4);
  return mark.toString('hex', 0, readSync(fd, mark, 0, 4, 0));
}

function openXlsx(fd: number, size: number, kind: FileKind, fileName: string): AsyncIterable<RawRow> {
  if (kind !== 'table') throw badFile(`must be ${KINDS[kind]}, but is an archive`);
  if (/\.(?:csv|tsv|txt)$/i.test(fileName))
    throw badFile('is named as a text file, but is an archive: the name of an XLSX file must end with .xlsx');
  if (size > LIMITS.xlsxBytes)
    throw tooLarge(`is larger than ${LIMITS.xlsxBytes / 1024 / 1024} MiB, the limit for XLSX files`);
  return readXlsx(fd, size);
}

async function openText(fd: number, size: number, kind: FileKind): Promise<Rows> {
  const octets: Octets = async function* () {
    yield* readOctets(fd, 0, size);
  };
  const encoding = await detectEncoding(octets);
  const isVcard = await startsWithCard(decoded(octets, encoding));
  if (isVcard !== (kind === 'vcard'))
    throw badFile(isVcard ? 'is a vCard: send it to /contacts/upload/vcard' : `must be ${KINDS.vcard}`);
  return isVcard ? { rows: readVcard(octets, encoding), head: VCARD_COLUMNS } : { rows: readCsv(octets, encoding) };
}

async function startsWithCard(texts: AsyncIterable<string>): Promise<boolean> {
  for await (const text of texts) if (text.trim() !== '') return /^\s*(?:[\w-]+\.)?BEGIN:VCARD\b/i.test(text);
  throw badFile('is empty');
}

async function* withHead(head: readonly string[], rows: AsyncIterable<RawRow>): AsyncGenerator<RawRow> {
  yield { line: 0, cells: head };
  yield* rows;
}

function createChunkWriter(fd: number) {
  const places: ChunkPlace[] = [];
  let rows: CheckedRow[] = [];
  let length = 0;
  let offset = 0;
  function flush(): void {
    const octets = packRows(rows);
    if (writeSync(fd, octets, 0, octets.length, offset) < octets.length) throw new Error('the disk is full');
    places.push({ offset, bytes: octets.length });
    offset += octets.length;
    [rows, length] = [[], 0];
  }
  return {
    write(row: CheckedRow): void {
      rows.push(row);
      length += lengthOf(row);
      if (rows.length >= MAX_CHUNK_ROWS || length >= MAX_CHUNK_LENGTH) flush();
    },
    end(): readonly ChunkPlace[] {
      if (rows.length > 0) flush();
      return places;
    },
  };
}

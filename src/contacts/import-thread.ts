import { fstatSync, readSync, writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { Delimiter } from '../core/csv.ts';
import { AppError, type FieldError } from '../core/errors.ts';
import {
  badFile,
  checkTable,
  LIMITS,
  previewTable,
  type RawRow,
  type Table,
  type TableOptions,
  type TablePreview,
  tooLarge,
} from './import-check.ts';
import { decoded, detectEncoding, type Encoding, type Bytes, readBytes } from './import-encoding.ts';
import { type CheckedRow, lengthOf, MAX_CHUNK_LENGTH, MAX_CHUNK_ROWS, packRows } from './import-rows.ts';
import { type QuoteOptions, readCsv, readLayout, readVcard, VCARD_COLUMNS } from './import-tables.ts';
import { readXlsx } from './import-xlsx.ts';

/** Kind of the file as the request states it. Whether a table is CSV or XLSX is detected from the content. */
export type FileKind = 'table' | 'vcard';

export type Conversion = {
  /** The descriptor of the open file to read: threads share descriptors. */
  readonly source: number;
  /** The descriptor of the open file to which the chunks are written. */
  readonly chunks: number;
  readonly kind: FileKind;
  readonly fileName: string;
  readonly options: TableOptions;
  /** Options for reading the text of the file; omitted ones are detected. */
  readonly text?: TextOptions;
};

type TextOptions = { readonly encoding?: Encoding | undefined; readonly delimiter?: Delimiter | undefined };

/** Called repeatedly with the share of the file that has been read, from 0 to 1. */
export type OnProgress = (share: number) => void;

/** Position of a chunk of rows in the file of chunks. */
export type ChunkPlace = { readonly offset: number; readonly bytes: number };
export type Converted = Table & { readonly chunks: readonly ChunkPlace[] };

/**
 * Reads and checks a file of contacts, and writes its rows, in chunks, to another file. Memory does not grow with the
 * size of the file, except for the phone numbers, which are kept to find duplicates. If faulty values are to be cured,
 * a row with an unclosed quote costs no other row. Errors: 400 or 413 if the file as a whole is faulty.
 */
export async function convertFile(conversion: Conversion, onProgress?: OnProgress): Promise<Converted> {
  const { source, kind, fileName, options, text = {} } = conversion;
  const { format, encoding } = await inspectFile({ source, kind, fileName, encoding: text.encoding });
  const read = { ...conversion, text: { ...text, encoding } };
  const unquoted = await findBrokenQuotes(read, format);
  const candidates = await candidatesOf(read, format, unquoted);
  const { rows, head } = await openRows(read, format, { unquoted, onProgress });
  const writer = createChunkWriter(conversion.chunks);
  let table: Table | undefined;
  const tableOptions = { ...options, candidates, ...(head && { removeHead: true, mapping: {} }) };
  for await (const row of checkTable(head ? withHead(head, rows) : rows, tableOptions, (made) => (table = made)))
    writer.write(row);
  if (!table) throw new Error('the table is known when its rows end');
  return { ...table, chunks: writer.end() };
}

/** Number of times that a file is read for unclosed quotes: one may hide another. */
const MAX_PASSES = 10;
const NO_LINES: ReadonlySet<number> = new Set();

/**
 * Finds the lines with an unclosed quote, so that they cost no other row, if faulty values are to be cured. The rows
 * are only split, which takes a tenth of the time of checking them; a file without quotes is not read.
 */
async function findBrokenQuotes(read: Preview, format: FileFormat): Promise<ReadonlySet<number>> {
  if (read.options.cleaning === undefined || format !== 'csv' || !hasQuotes(read.source)) return NO_LINES;
  const lines = new Set<number>();
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const known = new Set(lines);
    try {
      const { rows } = await openRows(read, format, { unquoted: known, onBroken: (line) => lines.add(line) });
      for await (const _ of rows);
    } catch (error) {
      if (lines.size === known.size) throw error;
    }
    if (lines.size === known.size) break;
  }
  return lines;
}

const QUOTE = 34;

function hasQuotes(fd: number): boolean {
  for (const bytes of readBytes(fd, 0, fstatSync(fd).size)) if (bytes.includes(QUOTE)) return true;
  return false;
}

type Preview = Omit<Conversion, 'chunks' | 'kind'>;

/** Returns candidate countries for the numbers of a table, if its faults are to be cured. */
async function candidatesOf(
  read: Preview,
  format: FileFormat,
  unquoted: ReadonlySet<number>,
): Promise<readonly string[]> {
  if (read.options.cleaning === undefined || format === 'vcard') return [];
  const { rows } = await openRows(read, format, { unquoted });
  return (await previewTable(rows, read.options)).guess.candidates;
}

/** Reads the beginning of the table of a file; nothing is written. Errors: as of `convertFile`. */
async function previewFile({ source, fileName, options, text = {} }: Preview): Promise<PreviewedTable> {
  const { format, encoding } = await inspectFile({ source, kind: 'table', fileName, encoding: text.encoding });
  const read = { source, fileName, options, text: { ...text, encoding } };
  const unquoted = await findBrokenQuotes(read, format);
  const { rows, delimiter = null } = await openRows(read, format, { unquoted });
  return { ...(await previewTable(rows, options)), encoding: encoding ?? null, delimiter };
}

/** The beginning of a table, and the options with which its text was read; null for XLSX. */
export type PreviewedTable = TablePreview & {
  readonly encoding: Encoding | null;
  readonly delimiter: Delimiter | null;
};

const FORMATS = ['csv', 'xlsx', 'vcard'] as const;
export type FileFormat = (typeof FORMATS)[number];

type Inspection = Pick<Conversion, 'source' | 'fileName'> & {
  /** Expected kind; null: table or vCard. */
  readonly kind: FileKind | null;
  readonly encoding?: Encoding | undefined;
};

/** The type of a file, and the encoding of its text, which is detected in the whole file unless it is given. */
export type Inspected = { readonly format: FileFormat; readonly encoding?: Encoding | undefined };

/** Detects the type of a file. Errors: 400 if it is not of the requested kind, or does not match its name. */
async function inspectFile({ source: fd, kind, fileName, encoding }: Inspection): Promise<Inspected> {
  const { size } = fstatSync(fd);
  if (size === 0) throw badFile('is empty');
  const ending = /\.[^.\s]{1,8}$/.test(fileName);
  const kinds: readonly FileKind[] = kind === null ? ['table', 'vcard'] : [kind];
  if (ending && !kinds.some((one) => NAMES[one].test(fileName)))
    throw badFile(`must be ${kinds.map((one) => KINDS[one]).join(' or ')}, as its name says`);
  const mark = readSignature(fd);
  if (mark === OLE) throw badFile('is an old Excel file, or has a password: save it as XLSX without a password');
  if (mark === ZIP || mark === EMPTY_ZIP) {
    refuseArchive(size, kinds, fileName);
    return { format: 'xlsx' };
  }
  if (/\.xlsx$/i.test(fileName)) throw badFile('is named .xlsx, but is not an XLSX file');
  return inspectText(bytesOf(fd, size), kind, encoding);
}

async function inspectText(bytes: Bytes, kind: FileKind | null, given: Encoding | undefined): Promise<Inspected> {
  const encoding = given ?? (await detectEncoding(bytes, kind === null));
  const isVcard = await startsWithCard(decoded(bytes, encoding));
  if (kind !== null && isVcard !== (kind === 'vcard'))
    throw badFile(isVcard ? 'is a vCard: send it to /contacts/upload/vcard' : `must be ${KINDS.vcard}`);
  return { format: isVcard ? 'vcard' : 'csv', encoding };
}

const bytesOf = (fd: number, size: number, onProgress?: OnProgress): Bytes =>
  async function* () {
    let read = 0;
    for (const bytes of readBytes(fd, 0, size)) {
      yield bytes;
      read += bytes.length;
      onProgress?.(read / size);
    }
  };

type Rows = {
  readonly rows: AsyncIterable<RawRow>;
  readonly head?: readonly string[];
  readonly delimiter?: Delimiter;
};

const NAMES: Readonly<Record<FileKind, RegExp>> = { table: /\.(?:csv|tsv|txt|xlsx)$/i, vcard: /\.(?:vcf|vcard)$/i };
const KINDS: Readonly<Record<FileKind, string>> = {
  table: 'a CSV or XLSX file (.csv, .tsv, .txt, .xlsx)',
  vcard: 'a vCard file (.vcf, .vcard)',
};
const ZIP = '504b0304';
const EMPTY_ZIP = '504b0506';
const OLE = 'd0cf11e0';

async function openRows(
  { source: fd, text = {} }: Pick<Preview, 'source' | 'text'>,
  format: FileFormat,
  { onProgress, ...quotes }: QuoteOptions & { onProgress?: OnProgress | undefined },
): Promise<Rows> {
  const { size } = fstatSync(fd);
  if (format === 'xlsx') return { rows: readXlsx(fd, size) };
  const { encoding = 'utf-8', delimiter } = text;
  const bytes = bytesOf(fd, size, onProgress);
  if (format === 'vcard') return { rows: readVcard(bytes, encoding), head: VCARD_COLUMNS };
  const layout = await readLayout(bytesOf(fd, size), encoding, delimiter);
  return { rows: readCsv(bytes, encoding, { layout, ...quotes }), delimiter: layout.delimiter };
}

function readSignature(fd: number): string {
  const mark = Buffer.alloc(4);
  return mark.toString('hex', 0, readSync(fd, mark, 0, 4, 0));
}

function refuseArchive(size: number, kinds: readonly FileKind[], fileName: string): void {
  if (!kinds.includes('table')) throw badFile(`must be ${KINDS.vcard}, but is an archive`);
  if (/\.(?:csv|tsv|txt|vcf|vcard)$/i.test(fileName))
    throw badFile('is named as a text file, but is an archive: the name of an XLSX file must end with .xlsx');
  if (size > LIMITS.xlsxBytes)
    throw tooLarge(`is larger than ${LIMITS.xlsxBytes / 1024 / 1024} MiB, the limit for XLSX files`);
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
    const bytes = packRows(rows);
    if (writeSync(fd, bytes, 0, bytes.length, offset) < bytes.length) throw new Error('the disk is full');
    places.push({ offset, bytes: bytes.length });
    offset += bytes.length;
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

/** Task of the thread: convert the file, only preview its table, or only detect its type. */
export type ThreadTask =
  | ({ readonly work: 'convert' } & Conversion)
  | ({ readonly work: 'preview' } & Omit<Conversion, 'chunks' | 'kind'>)
  | ({ readonly work: 'inspect' } & Pick<Conversion, 'source' | 'fileName'>);

/** Share of the file that has been read, from 0 to 1; the thread posts it from time to time. */
export type ThreadProgress = { readonly kind: 'progress'; readonly share: number };

/** The last message that the thread posts about a task. */
export type ThreadResult =
  | { readonly kind: 'converted'; readonly converted: Converted }
  | { readonly kind: 'previewed'; readonly preview: PreviewedTable }
  | { readonly kind: 'inspected'; readonly inspected: Inspected }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'too_large';
      readonly message: string;
      readonly details: readonly FieldError[];
    };

const PROGRESS_MS = 300;

/** Posts progress at most every 300 ms. */
function postProgress(): (share: number) => void {
  let next = 0;
  return (share) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    parentPort?.postMessage({ kind: 'progress', share } satisfies ThreadProgress);
  };
}

async function run(task: ThreadTask): Promise<ThreadResult> {
  try {
    if (task.work === 'preview') return { kind: 'previewed', preview: await previewFile(task) };
    if (task.work === 'inspect') return { kind: 'inspected', inspected: await inspectFile({ ...task, kind: null }) };
    return { kind: 'converted', converted: await convertFile(task, postProgress()) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details = [] } = error;
    return { kind: 'refused', code: code === 'too_large' ? code : 'invalid', message, details };
  }
}

// What `run` throws ends the thread, as an error that its starter sees.
parentPort?.on('message', (task: ThreadTask) => void run(task).then((result) => parentPort?.postMessage(result)));

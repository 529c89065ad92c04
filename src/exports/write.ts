import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { createGzip } from 'node:zlib';
import type { Snapshot } from '../core/db/transaction.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { type Column, type RowQuery, selectRows } from './rows.ts';
import type { WorkbookInput } from './sheet-thread.ts';
import type { ExportFormat, ExportType } from './store.ts';

type RowsToWrite = {
  readonly snapshot: Snapshot;
  readonly rows: RowQuery;
  readonly format: ExportFormat;
  readonly file: FileHandle;
  readonly onRows: OnRows;
  readonly signal: AbortSignal;
};

/**
 * Writes rows into a file as fast as PostgreSQL sends them, with only a few chunks of 64 KiB in memory. CSV is the
 * output of COPY apart from its line ends. For a workbook the rows are written in the text format of COPY and converted
 * later.
 */
export function writeRows({ snapshot, rows, format, file, onRows, signal }: RowsToWrite): Promise<void> {
  const query = selectRows(rows, format);
  // Not a write stream: closing the file would wait for a stream that does not close it.
  const target = (chunks: AsyncIterable<Uint8Array>): Promise<void> => file.writeFile(chunks);
  if (format === 'xlsx') return pipeline(snapshot.copy(query, 'FORMAT text'), countLines(onRows), target, { signal });
  // The header is not a row.
  onRows(-1);
  return pipeline(snapshot.copy(query, 'FORMAT csv, HEADER'), toCrlf(onRows), target, { signal });
}

/** Reads a file in the form in which it goes to the store: compressed for csv.gz. */
export const readContent = (file: FileHandle, format: ExportFormat): Readable => {
  const content = Readable.from(chunksOf(file), { objectMode: false });
  return format === 'csv.gz' ? content.compose(createGzip()) : content;
};

const READ_BYTES = 256 * 1024;

/** Reads a file from its beginning, wherever its position is. */
async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

type Workbook = { readonly dataDir: string; readonly name: string; readonly columns: readonly Column[] };

/** Creates a temporary file with the workbook of a file of rows. The caller closes it. */
export async function createWorkbookFile(
  source: FileHandle,
  { dataDir, name, columns }: Workbook,
  signal: AbortSignal,
): Promise<FileHandle> {
  const target = await openTemporaryFile(dataDir);
  try {
    const cells = columns.map((column) => ({ name: column.name, isNumber: column.kind === 'number' }));
    await writeWorkbook({ source: source.fd, target: target.fd, name, columns: cells }, signal);
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

const [NEWLINE, QUOTE] = [0x0a, 0x22];
const CRLF = Buffer.from('\r\n');

/** Called with the number of rows that have passed since the last call. */
type OnRows = (rows: number) => void;

/**
 * Makes a transform that gives the CSV of COPY the line ends of RFC 4180: CR LF. Line ends within quotes are text and
 * stay as they are. `onRows` counts lines, including the header.
 */
export function toCrlf(onRows: OnRows) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let inQuotes = false;
    for await (const chunk of source) {
      const pieces: Buffer[] = [];
      let from = 0;
      let quote = chunk.indexOf(QUOTE);
      for (let end = nextLine(chunk, 0); end < chunk.length; end = nextLine(chunk, end + 1)) {
        for (; quote >= 0 && quote < end; quote = chunk.indexOf(QUOTE, quote + 1)) inQuotes = !inQuotes;
        if (inQuotes) continue;
        pieces.push(chunk.subarray(from, end), CRLF);
        from = end + 1;
      }
      for (; quote >= 0; quote = chunk.indexOf(QUOTE, quote + 1)) inQuotes = !inQuotes;
      onRows(pieces.length / 2);
      yield Buffer.concat([...pieces, chunk.subarray(from)]);
    }
  };
}

/** Returns the position of the next line end, or the length of the chunk when there is none. */
function nextLine(chunk: Buffer, from: number): number {
  const at = chunk.indexOf(NEWLINE, from);
  return at < 0 ? chunk.length : at;
}

/**
 * Makes a transform that passes the text format of COPY on unchanged and counts its rows: one line per row, because
 * COPY writes line ends within texts as `\n`.
 */
export function countLines(onRows: OnRows) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      let rows = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, end + 1)) rows++;
      onRows(rows);
      yield chunk;
    }
  };
}

const THREAD = new URL('./sheet-thread.ts', import.meta.url);
const HEAP: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Writes rows as an XLSX workbook, with a sheet for each 1,048,575 rows. This happens in a separate thread: a row takes
 * 15 µs of CPU time, which would hold up everything else in the process.
 */
async function writeWorkbook(work: WorkbookInput, signal: AbortSignal): Promise<void> {
  const thread = new Worker(THREAD, { workerData: work, resourceLimits: HEAP, env: {} });
  try {
    const ended = once(thread, 'exit', { signal }).then(() => Promise.reject(new Error('no workbook was written')));
    // An error in the thread rejects both.
    await Promise.race([once(thread, 'message', { signal }), ended]);
  } finally {
    await thread.terminate();
  }
}

/** Excel reserves the name History. */
const SHEET_NAMES: Readonly<Record<ExportType, string>> = {
  HISTORY: 'Messages',
  CONTACTS: 'Contacts',
  DELIVERY_REPORTS: 'Delivery reports',
  OPT_OUTS: 'Opt-outs',
  PERSON: 'Person',
};

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  'csv.gz': 'application/gzip',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export const sheetNameOf = (type: ExportType): string => SHEET_NAMES[type];

export const contentTypeOf = (format: ExportFormat): string => CONTENT_TYPES[format];

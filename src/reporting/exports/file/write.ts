import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Snapshot } from '../../../platform/db/snapshot.ts';
import { openTemporaryFile } from '../../../platform/storage/temporary-file.ts';
import type { ExportFormat } from '../filters.ts';
import { type Column, type RowQuery, selectRows } from '../rows/cells.ts';
import { countLines, type OnRows, toCrlf } from './lines.ts';
import { writeWorkbook } from './sheet.ts';

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

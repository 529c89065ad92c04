import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Snapshot } from '../../../platform/db/snapshot.ts';
import { openTemporaryFile } from '../../../platform/storage/temporary-file.ts';
import type { ExportFormat } from '../filters.ts';
import { type Column, type Rows, selectRows } from '../rows/cells.ts';
import { countLines, type OnRows, toCrlf } from './lines.ts';
import { writeSheet } from './sheet.ts';

export type Writing = {
  readonly snapshot: Snapshot;
  readonly rows: Rows;
  readonly format: ExportFormat;
  readonly file: FileHandle;
  readonly onRows: OnRows;
  readonly signal: AbortSignal;
};

/**
 * Writes rows into a file as fast as PostgreSQL sends them: what is in memory at a time are a few chunks of 64 KiB. CSV is
 * what COPY makes of the rows, but for the ends of its lines; for a workbook they are written as text, to be read again.
 */
export function writeRows({ snapshot, rows, format, file, onRows, signal }: Writing): Promise<void> {
  const query = selectRows(rows, format);
  // Not as a stream: closing the file would wait for one that does not close it.
  const target = (chunks: AsyncIterable<Uint8Array>): Promise<void> => file.writeFile(chunks);
  if (format === 'xlsx') return pipeline(snapshot.copy(query, 'FORMAT text'), countLines(onRows), target, { signal });
  // The head is no row.
  onRows(-1);
  return pipeline(snapshot.copy(query, 'FORMAT csv, HEADER'), toCrlf(onRows), target, { signal });
}

/** The file of rows, as it goes to the store. */
export const contentOf = (file: FileHandle, format: ExportFormat): Readable => {
  const content = Readable.from(chunksOf(file), { objectMode: false });
  return format === 'csv.gz' ? content.compose(createGzip()) : content;
};

const READ_BYTES = 256 * 1024;

/** From its beginning. */
async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

type Workbook = { readonly dataDir: string; readonly name: string; readonly columns: readonly Column[] };

/** The workbook of a file of rows, as a file of its own. */
export async function openSheet(
  source: FileHandle,
  { dataDir, name, columns }: Workbook,
  signal: AbortSignal,
): Promise<FileHandle> {
  const target = await openTemporaryFile(dataDir);
  try {
    const cells = columns.map((column) => ({ name: column.name, isNumber: column.kind === 'number' }));
    await writeSheet({ source: source.fd, target: target.fd, name, columns: cells }, signal);
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Snapshot } from '../../db/snapshot.ts';
import type { ExportFormat } from '../filters.ts';
import { type Rows, selectRows } from '../rows/cells.ts';
import { countLines, type OnRows, toCrlf } from './lines.ts';
import { toSheet } from './sheet.ts';

export type Writing = {
  readonly snapshot: Snapshot;
  readonly rows: Rows;
  readonly format: ExportFormat;
  /** What a sheet is called. */
  readonly name: string;
  readonly file: FileHandle;
  readonly onRows: OnRows;
  readonly signal: AbortSignal;
};

/**
 * Writes rows into a file as PostgreSQL sends them: what is in memory at a time are a few chunks of 64 KiB. CSV is what COPY
 * makes of the rows, but for the ends of its lines.
 */
export function writeFile({ snapshot, rows, format, name, file, onRows, signal }: Writing): Promise<void> {
  const query = selectRows(rows, format);
  const target = file.createWriteStream({ autoClose: false });
  if (format === 'xlsx') {
    const columns = rows.columns.map((column) => ({ name: column.name, isNumber: column.kind === 'number' }));
    const source = snapshot.copy(query, 'FORMAT text');
    return pipeline(source, countLines(onRows), toSheet({ name, columns }), target, { signal });
  }
  // The head is no row.
  onRows(-1);
  const source = snapshot.copy(query, 'FORMAT csv, HEADER');
  if (format === 'csv') return pipeline(source, toCrlf(onRows), target, { signal });
  return pipeline(source, toCrlf(onRows), createGzip(), target, { signal });
}

/** From its beginning. */
export const readBack = (file: FileHandle): Readable => file.createReadStream({ start: 0, autoClose: false });

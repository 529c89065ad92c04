import { createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { writeXlsxStream } from 'hucre/xlsx';
import { readCopyText } from './sheet-rows.ts';

/** The input of the thread: open file descriptors, and the columns of the rows. */
export type WorkbookInput = {
  /** A file with rows in the text format of COPY. */
  readonly source: number;
  /** An empty file for the workbook. */
  readonly target: number;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
};

/**
 * Up to this size of the rows no part of the workbook reaches 4 GiB: a character becomes six at most, and a cell takes
 * some 60 bytes in addition to its text, 1.3 GB in a full sheet of 20 columns. Larger workbooks are ZIP64, which Excel
 * reads and LibreOffice 7.4 does not.
 */
const MAX_PLAIN_ZIP_BYTES = 400_000_000;

const { source, target, name, columns }: WorkbookInput = workerData;
const rows = readCopyText(
  createReadStream('', { fd: source, start: 0, autoClose: false }),
  columns.map(({ isNumber }) => isNumber),
);
const workbook = writeXlsxStream(rows, {
  name,
  columns: columns.map((column) => ({ header: column.name, key: column.name })),
  zip64: fstatSync(source).size > MAX_PLAIN_ZIP_BYTES,
});
await pipeline(Readable.from(workbook), createWriteStream('', { fd: target, start: 0, autoClose: false }));
parentPort?.postMessage('written');

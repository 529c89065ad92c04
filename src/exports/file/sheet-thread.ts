import { parentPort, workerData } from 'node:worker_threads';
import { writeXlsxStream } from 'hucre/xlsx';
import { readCopyText } from './sheet-rows.ts';

/** What a thread is given: rows as COPY writes them, and the columns that they have. */
export type SheetWork = {
  readonly source: ReadableStream<Uint8Array>;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
};

const { source, name, columns }: SheetWork = workerData;
const rows = readCopyText(
  source,
  columns.map(({ isNumber }) => isNumber),
);
const file = writeXlsxStream(rows, {
  name,
  columns: columns.map((column) => ({ header: column.name, key: column.name })),
  zip64: true,
});
parentPort?.postMessage(file, [file]);

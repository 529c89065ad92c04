import { writeXlsxStream } from 'hucre/xlsx';
import { createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { parentPort, workerData } from 'node:worker_threads';

type Cell = string | number | null;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** Characters that XML 1.0 cannot contain, and other control characters, which do not belong in a cell. */
const CONTROLS = /[[\p{Cc}\ufffe\uffff]--[\t\n\r]]/gv;
/** The limit of Excel. */
const MAX_CELL_LENGTH = 32_767;

/** Parses the text format of COPY into the cells of a sheet. `numbers` marks the columns that hold numbers. */
export async function* readCopyText(
  source: AsyncIterable<Uint8Array>,
  numbers: readonly boolean[],
): AsyncGenerator<Cell[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source) {
    const lines = (rest + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.split('\t').map((cell, i) => toCell(cell, numbers[i] === true));
  }
}

function toCell(written: string, isNumber: boolean): Cell {
  if (written === '\\N') return null;
  if (isNumber) return Number(written);
  const text = written.includes('\\')
    ? written.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter)
    : written;
  return text.replace(CONTROLS, '\ufffd').slice(0, MAX_CELL_LENGTH);
}

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

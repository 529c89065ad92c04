import { Readable } from 'node:stream';
import { CsvError, parse, type Parser } from 'csv-parse';
import { decoded, type Encoding, type Octets } from './encoding.ts';
import { readCell } from '../../../../platform/lib/csv.ts';
import { detectDelimiter, SAMPLE_CHARACTERS } from '../../../../platform/lib/csv-delimiter.ts';
import { badFile, LIMITS, type RawRow } from '../limits.ts';

/** The line by which Excel writes and reads the delimiter. */
const SEPARATOR_LINE = /^sep=([,;|\t])\r?\n/i;

/**
 * Yields the rows of a CSV file with the lines where they begin; empty lines are left out. Quotes within a cell that is
 * not quoted stay as they are. The apostrophes that our own files have before formulas are taken away.
 * Errors: 400 for a quote that is not closed, and for a row longer than 64 KiB.
 */
export async function* readCsv(octets: Octets, encoding: Encoding): AsyncGenerator<RawRow> {
  const sample = await sampleOf(octets, encoding);
  const separator = SEPARATOR_LINE.exec(sample);
  const lines = createLineCounter();
  /** The first lines of the rows that were parsed and not read yet. */
  const begins: number[] = [];
  const parser = parse({
    delimiter: separator?.[1] ?? detectDelimiter(sample),
    // Otherwise only the first kind that is found would count, and a file composed of two others would lose rows.
    record_delimiter: ['\r\n', '\n', '\r'],
    from_line: separator ? 2 : 1,
    // Called while a row is parsed: if there is an error, the rows before it may not have been read yet, and are lost.
    on_record(cells, info) {
      begins.push(lines.beginOf(cells, info.lines));
      return cells.map(readCell);
    },
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: LIMITS.rowLength,
  });
  try {
    for await (const cells of pipedInto(Readable.from(decoded(octets, encoding), { objectMode: false }), parser))
      yield { line: begins.shift() ?? 0, cells };
  } catch (error) {
    throw error instanceof CsvError ? faultOf(error, lines.next()) : error;
  }
}

/** Pipes the text into the parser, so that an error of the text becomes an error of the rows. */
function pipedInto(text: Readable, parser: Parser): AsyncIterable<string[]> {
  text.on('error', (error) => parser.destroy(error));
  return text.pipe(parser);
}

/**
 * Counts the lines of rows, in their order. The parser counts a line end of two characters within quotes as two lines.
 */
function createLineCounter() {
  let doubled = 0;
  let last = 0;
  return {
    beginOf(cells: readonly string[], end: number): number {
      const breaks = breaksIn(cells);
      doubled += breaks.pairs;
      last = end - doubled;
      return last - breaks.all;
    },
    next: (): number => last + 1,
  };
}

const BREAK = /\r\n|\r|\n/g;

function breaksIn(cells: readonly string[]): { all: number; pairs: number } {
  let all = 0;
  let pairs = 0;
  for (const cell of cells)
    if (cell.includes('\n') || cell.includes('\r'))
      for (const [found] of cell.matchAll(BREAK)) {
        all++;
        if (found.length === 2) pairs++;
      }
  return { all, pairs };
}

function faultOf({ code }: CsvError, line: number): Error {
  if (code === 'CSV_MAX_RECORD_SIZE')
    return badFile(`line ${line}: the row is longer than ${LIMITS.rowLength / 1024} KiB; is a quote not closed?`);
  if (code === 'CSV_QUOTE_NOT_CLOSED') return badFile(`line ${line}: a quote is not closed`);
  return badFile(`line ${line}: cannot be read as CSV`);
}

async function sampleOf(octets: Octets, encoding: Encoding): Promise<string> {
  let sample = '';
  for await (const text of decoded(octets, encoding)) {
    sample += text;
    if (sample.length >= SAMPLE_CHARACTERS) break;
  }
  return sample.slice(0, SAMPLE_CHARACTERS);
}

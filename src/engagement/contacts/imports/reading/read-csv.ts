import { Readable } from 'node:stream';
import { CsvError, parse, type Parser } from 'csv-parse';
import { decoded, type Encoding, type Octets } from './encoding.ts';
import { readCell } from '../../../../platform/lib/csv.ts';
import {
  DELIMITERS,
  type Delimiter,
  detectDelimiter,
  SAMPLE_CHARACTERS,
} from '../../../../platform/lib/csv-delimiter.ts';
import { badFile, LIMITS, type RawRow } from '../limits.ts';

/** The line by which Excel writes and reads the delimiter. */
const SEPARATOR_LINE = /^sep=([,;|\t])\r?\n/i;

/** The cell delimiter of a file, and the line where its rows begin. */
export type Layout = { readonly delimiter: Delimiter; readonly beginLine: number };

/** Finds the cell delimiter of a file: the one that is given, or else that of the file. */
export async function readLayout(octets: Octets, encoding: Encoding, delimiter?: Delimiter): Promise<Layout> {
  const sample = await sampleOf(octets, encoding);
  const separator = SEPARATOR_LINE.exec(sample)?.[1];
  const named = DELIMITERS.find((one) => one === separator);
  return { delimiter: delimiter ?? named ?? detectDelimiter(sample), beginLine: separator === undefined ? 1 : 2 };
}

/**
 * Yields the rows of a CSV file with the lines where they begin; empty lines are omitted. Quotes within a cell that is
 * not quoted stay as they are. The apostrophes that our own files have before formulas are removed. Errors: 400 for an
 * unclosed quote, and for a row longer than 64 KiB.
 */
export async function* readCsv(
  octets: Octets,
  encoding: Encoding,
  { layout: given, unquoted, onBroken }: { layout?: Layout } & QuoteOptions = {},
): AsyncGenerator<RawRow> {
  const layout = given ?? (await readLayout(octets, encoding));
  const text = unquoted?.size ? withoutQuotes(decoded(octets, encoding), unquoted) : decoded(octets, encoding);
  const lines = createLineCounter();
  /** The first lines of the rows that were parsed and not read yet. */
  const begins: number[] = [];
  const parser = parse({
    delimiter: layout.delimiter,
    // Otherwise only the first kind that is found would count, and a file composed of two others would lose rows.
    record_delimiter: ['\r\n', '\n', '\r'],
    from_line: layout.beginLine,
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
  let columns = 0;
  try {
    for await (const cells of pipedInto(Readable.from(text, { objectMode: false }), parser)) {
      const line = begins.shift() ?? 0;
      columns ||= cells.length;
      if (onBroken && swallowsRow(cells, layout.delimiter, columns)) onBroken(line);
      yield { line, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    if (isQuoteFault(error)) onBroken?.(lines.next());
    throw faultOf(error, lines.next());
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

/** Handling of unclosed quotes. */
export type QuoteOptions = {
  /** Lines whose quotes are ignored. */
  readonly unquoted?: ReadonlySet<number>;
  /** Called with each line that seems to begin a row with such a quote. */
  readonly onBroken?: (line: number) => void;
};

/** Returns true if a cell contains only a phone number. */
const isNumberCell = (cell: string): boolean =>
  cell.length <= MAX_NUMBER_LENGTH && /^"?\+?[\d ().\-/]{6,}"?$/.test(cell.trim());
const MAX_NUMBER_LENGTH = 50;

/**
 * Returns true if a cell has swallowed a row, because a quote before it is closed only by a quote in a later row: it
 * has a line with as many cells as the table has columns, one of them a phone number. People do not write this into a
 * cell.
 */
function swallowsRow(cells: readonly string[], delimiter: Delimiter, columns: number): boolean {
  return cells.some((cell) => {
    if (!cell.includes('\n')) return false;
    const inner = cell.split(/\r?\n/).slice(1);
    return inner.some((line) => {
      const parts = line.split(delimiter);
      return parts.length >= columns && parts.some(isNumberCell);
    });
  });
}

/** An unclosed quote makes one row of all that follows, up to the longest row or the end. */
const isQuoteFault = ({ code }: CsvError): boolean =>
  code === 'CSV_MAX_RECORD_SIZE' || code === 'CSV_QUOTE_NOT_CLOSED' || code === 'CSV_INVALID_CLOSING_QUOTE';

/** Removes the quotes of some lines; if such a line is blank, those of the next one that is not. */
async function* withoutQuotes(texts: AsyncIterable<string>, lines: ReadonlySet<number>): AsyncGenerator<string> {
  let line = 1;
  let isDue = lines.has(line);
  let isBlank = true;
  let isHalf = false;
  for await (const text of texts) {
    const pieces = text.split(/(\r\n|\r|\n)/).filter((piece) => piece !== '');
    yield pieces
      .map((piece) => {
        const isBreak = /^[\r\n]/.test(piece);
        // A line end of two characters may come in two texts.
        if (isBreak && !(isHalf && piece === '\n')) {
          line++;
          isDue = lines.has(line) || (isDue && isBlank);
          isBlank = true;
        } else if (piece.trim() !== '') isBlank = false;
        isHalf = piece === '\r';
        return isDue ? piece.replaceAll('"', '') : piece;
      })
      .join('');
  }
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

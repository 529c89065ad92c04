import { Readable } from 'node:stream';
import { CsvError, type Parser, parse } from 'csv-parse';
import { DELIMITERS, type Delimiter, detectDelimiter, readCell, SAMPLE_CHARACTERS } from '../core/csv.ts';
import { badFile, LIMITS, type RawRow, VALUE_SEPARATOR } from './import-check.ts';
import { decoded, type Encoding, type Bytes } from './import-encoding.ts';

/** The line by which Excel writes and reads the delimiter. */
const SEPARATOR_LINE = /^sep=([,;|\t])\r?\n/i;

/** The cell delimiter of a file, and the line where its rows begin. */
type Layout = { readonly delimiter: Delimiter; readonly beginLine: number };

/** Finds the cell delimiter of a file: the one that is given, or else that of the file. */
export async function readLayout(bytes: Bytes, encoding: Encoding, delimiter?: Delimiter): Promise<Layout> {
  const sample = await sampleOf(bytes, encoding);
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
  bytes: Bytes,
  encoding: Encoding,
  { layout: given, unquoted, onBroken }: { layout?: Layout } & QuoteOptions = {},
): AsyncGenerator<RawRow> {
  const layout = given ?? (await readLayout(bytes, encoding));
  const text = unquoted?.size ? withoutQuotes(decoded(bytes, encoding), unquoted) : decoded(bytes, encoding);
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

async function sampleOf(bytes: Bytes, encoding: Encoding): Promise<string> {
  let sample = '';
  for await (const text of decoded(bytes, encoding)) {
    sample += text;
    if (sample.length >= SAMPLE_CHARACTERS) break;
  }
  return sample.slice(0, SAMPLE_CHARACTERS);
}

/** The columns of the table that is made from a vCard file. */
export const VCARD_COLUMNS = ['phoneNumber', 'firstName', 'lastName', 'fullName', 'email', 'gender'] as const;
type Column = (typeof VCARD_COLUMNS)[number];

/** A line of a card: its name, its parameters with names in capitals, and its value as written. */
type Property = { readonly name: string; readonly parameters: readonly Parameter[]; readonly value: string };
type Parameter = readonly [name: string, value: string];

const WANTED: ReadonlySet<string> = new Set(['TEL', 'N', 'FN', 'EMAIL', 'GENDER']);
const EDGES: ReadonlySet<string> = new Set(['BEGIN', 'END']);

/**
 * Yields one row for each card of a vCard file (2.1, 3.0, 4.0), with the line where it begins. If a card has several
 * numbers, the best one is used: mobiles before others, the preferred one first, faxes and pagers last. A card without
 * a number gives a row without one. Nested cards (AGENT) are ignored. Errors: 400 for text outside of cards, for a card
 * without an end, and for a name, number, email address or gender in a line longer than 64 KiB.
 */
export async function* readVcard(bytes: Bytes, encoding: Encoding): AsyncGenerator<RawRow> {
  let depth = 0;
  let begin = 1;
  let properties: Property[] = [];
  for await (const { line, text, isCut } of logicalLines(linesOf(decoded(bytes, encoding)))) {
    const property = parseProperty(text);
    const edge = property && edgeOf(property);
    if (edge === 'BEGIN') {
      if (depth++ === 0) [begin, properties] = [line, []];
    } else if (depth === 0) {
      if (text.trim() !== '') throw badFile(`line ${line}: is not part of a vCard`);
    } else if (edge === 'END') {
      if (--depth === 0) yield { line: begin, cells: toCells(properties) };
    } else if (depth === 1 && property && WANTED.has(property.name)) {
      if (isCut) throw badFile(`line ${line}: is longer than ${LIMITS.rowLength / 1024} KiB`);
      properties.push(property);
    }
  }
  if (depth > 0) throw badFile(`line ${begin}: the card has no END:VCARD`);
}

/** Returns BEGIN or END if a property is the beginning or the end of a card. */
const edgeOf = ({ name, value }: Property): string | undefined =>
  EDGES.has(name) && value.trim().toUpperCase() === 'VCARD' ? name : undefined;

/** `isCut`: the line is longer than a row may be, and its end is missing. */
type Line = { readonly line: number; readonly text: string; readonly isCut: boolean };

/** A line end of any system; the LF that belongs to a CR at the end of a piece may follow in the next piece. */
const LINE_END = /\r\n|\n|\r(?!$)/;

async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<Line> {
  let line = 0;
  let rest = '';
  const cut = (text: string): string => text.slice(0, LIMITS.rowLength + 1);
  const lineOf = (text: string): Line => ({ line: ++line, text: cut(text), isCut: text.length > LIMITS.rowLength });
  for await (const text of texts) {
    const parts = (rest + text).split(LINE_END);
    rest = parts.pop() ?? '';
    for (const part of parts) yield lineOf(part);
    rest = rest.endsWith('\r') ? `${cut(rest.slice(0, -1))}\r` : cut(rest);
  }
  if (rest !== '') yield lineOf(rest.replace(/\r$/, ''));
}

const QUOTED = /^[^:]*;(?:ENCODING=)?QUOTED-PRINTABLE[;:]/i;

/** A line that may continue on the next line. */
type Open = {
  readonly line: number;
  readonly parts: string[];
  length: number;
  readonly quoted: boolean;
  soft: boolean;
  isCut: boolean;
};

/**
 * Joins folded lines: a line continues on the next one if that begins with a blank or, in quoted-printable, after an
 * equals sign at its end. Lines longer than a row may be (pictures) are cut: no property that is read is that long.
 */
async function* logicalLines(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  let open: Open | undefined;
  for await (const { line, text, isCut } of lines) {
    if (open && (open.soft || /^[ \t]/.test(text))) {
      append(open, open.soft ? text : text.slice(1));
    } else {
      if (open) yield { line: open.line, text: open.parts.join(''), isCut: open.isCut };
      open = { line, parts: [], length: 0, quoted: QUOTED.test(text), soft: false, isCut: false };
      append(open, text);
    }
    open.isCut ||= isCut;
  }
  if (open) yield { line: open.line, text: open.parts.join(''), isCut: open.isCut };
}

function append(open: Open, text: string): void {
  open.soft = open.quoted && text.endsWith('=');
  if (open.length > LIMITS.rowLength) return;
  open.parts.push(open.soft ? text.slice(0, -1) : text);
  open.length += text.length;
}

/**
 * The form of a property: `group.NAME;PARAM=value:value`. Colons and semicolons within quotes belong to a parameter.
 */
const FORM = /^(?:[A-Za-z0-9-]+\.)?([A-Za-z0-9-]+)((?:;(?:"[^"]*"|[^":;])*)*):(.*)$/s;

function parseProperty(text: string): Property | undefined {
  const [, name, parameters = '', value = ''] = FORM.exec(text) ?? [];
  if (name === undefined) return undefined;
  return { name: name.toUpperCase(), parameters: parseParameters(parameters), value };
}

/** Parses the parameters of a property. In 2.1, a type has no name: `;CELL` instead of `;TYPE=cell`. */
const parseParameters = (text: string): Parameter[] =>
  [...text.matchAll(/;((?:"[^"]*"|[^";])*)/g)].map(([, parameter = '']) => {
    const at = parameter.indexOf('=');
    const [name, value] = at < 0 ? ['', parameter] : [parameter.slice(0, at), parameter.slice(at + 1)];
    return [name.toUpperCase(), value.replaceAll('"', '').toUpperCase()] as const;
  });

const valuesOf = ({ parameters }: Property, name: string): string[] =>
  parameters.flatMap(([key, value]) => (key === name || key === '' ? value.split(',') : []));

function toCells(properties: readonly Property[]): string[] {
  const found: Partial<Record<Column, string>> = {};
  found.phoneNumber = bestNumber(properties);
  for (const property of properties) {
    const text = decodeValue(property);
    if (property.name === 'N') {
      const [last = '', first = ''] = splitParts(text);
      found.lastName ??= unescaped(last);
      found.firstName ??= unescaped(first);
    } else if (property.name === 'FN') found.fullName ??= unescaped(text);
    else if (property.name === 'EMAIL') found.email ??= unescaped(text);
    else if (property.name === 'GENDER') found.gender ??= genderOf(text);
  }
  return VCARD_COLUMNS.map((column) => found[column]?.trim() ?? '');
}

/** Maximum numbers of a card that are read: no person has more telephones. */
const MAX_NUMBERS = 10;

/**
 * Returns the best number that is not empty; among equals, the first. If no type says that it is a mobile, the others
 * follow it as in a cell of several numbers, since the plan of their country may say which one is.
 */
function bestNumber(properties: readonly Property[]): string {
  const numbers: { readonly number: string; readonly rank: number }[] = [];
  for (const property of properties) {
    const number = property.name === 'TEL' && numbers.length < MAX_NUMBERS ? numberIn(property) : '';
    if (number !== '') numbers.push({ number, rank: rankOf(property) });
  }
  const ranked = numbers.toSorted((a, b) => a.rank - b.rank);
  const [best] = ranked;
  if (best === undefined || best.rank < RANK.phone || best.rank >= RANK.other) return best?.number ?? '';
  return ranked.flatMap(({ number, rank }) => (rank < RANK.other ? [number] : [])).join(` ${VALUE_SEPARATOR} `);
}

/** The ranks of kinds of numbers. A number that is preferred comes before the others of its kind. */
const RANK = { mobile: 0, phone: 2, other: 4 } as const;
const MOBILE = ['CELL', 'IPHONE', 'MOBILE'];
const NOT_PHONES = ['FAX', 'PAGER', 'MODEM', 'BBS', 'TEXTPHONE'];

/** Ranks a number; lower is better. */
function rankOf(property: Property): number {
  const types = valuesOf(property, 'TYPE');
  const preferred = types.includes('PREF') || property.parameters.some(([name]) => name === 'PREF');
  const kind = types.some((type) => MOBILE.includes(type))
    ? 'mobile'
    : types.some((type) => NOT_PHONES.includes(type))
      ? 'other'
      : 'phone';
  return RANK[kind] + (preferred ? 0 : 1);
}

/** Returns the number of a property. In 4.0, numbers are URIs: `tel:+39-333-1234567;ext=12`. */
const numberIn = (property: Property): string =>
  unescaped(decodeValue(property)).trim().replace(/^tel:/i, '').replace(/;.*$/s, '');

const GENDERS: Readonly<Record<string, string>> = { M: 'MALE', F: 'FEMALE', O: 'OTHER' };
const genderOf = (text: string): string => GENDERS[text.slice(0, 1).toUpperCase()] ?? '';

/** Splits a value at its semicolons, except those after a backslash. */
function splitParts(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(/\\.|;/gs)) {
    if (found !== ';') continue;
    parts.push(text.slice(start, index));
    start = index + 1;
  }
  return [...parts, text.slice(start)];
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_, character: string) => (character.toLowerCase() === 'n' ? ' ' : character));

function decodeValue(property: Property): string {
  const encodings = valuesOf(property, 'ENCODING');
  if (encodings.includes('QUOTED-PRINTABLE')) return decodeText(bytesOf(property.value), charsetOf(property));
  if (encodings.includes('B') || encodings.includes('BASE64'))
    return decodeText(Buffer.from(property.value, 'base64'), charsetOf(property));
  return property.value;
}

const charsetOf = ({ parameters }: Property): string => parameters.find(([name]) => name === 'CHARSET')?.[1] ?? 'UTF-8';

const bytesOf = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Decodes a text. An unknown character set is read as Windows-1252. */
function decodeText(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

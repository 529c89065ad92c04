import { posix } from 'node:path';
import { DAY_MS } from '../core/time.ts';
import { badFile, LIMITS, type RawRow } from './import-check.ts';
import { attributeReader, createXmlReader, type Listener, openZip, type Zip } from './import-zip.ts';

/**
 * Yields the rows of the first sheet as texts: numbers without a format, dates as `yyyy-MM-dd`, formulas as their saved
 * results. Nothing is calculated. Empty rows are omitted. Errors: 400 for a file that is not an XLSX file or is
 * damaged, and for a sheet with more than 200 columns; 413 for one that is larger than 64 MiB uncompressed.
 */
export async function* readXlsx(fd: number, size: number): AsyncGenerator<RawRow> {
  const zip = openZip(fd, size);
  const workbook = await readWorkbook(zip);
  const rows: RawRow[] = [];
  const listener = sheetListener(workbook, (row) => rows.push(row));
  for await (const _ of parseInSteps(zip, workbook.sheet, listener)) yield* rows.splice(0);
}

const read = { place: attributeReader('r'), type: attributeReader('t'), style: attributeReader('s') };

type Cell = { column: number; readonly type: string; readonly style: number; text: string };

function sheetListener(workbook: Workbook, onRow: (row: RawRow) => void): Listener {
  let line = 0;
  let cells: string[] = [];
  let length = 0;
  let column = -1;
  let cell: Cell | null = null;
  let inText = false;

  function openCell(attributes: string): void {
    column = columnOf(read.place(attributes)) ?? column + 1;
    cell = { column, type: read.type(attributes) ?? 'n', style: Number(read.style(attributes) ?? -1), text: '' };
  }

  function closeCell(): void {
    const text = cell ? textOf(cell, workbook) : '';
    cell = null;
    if (text === '') return;
    if (column >= LIMITS.columns) throw badFile(`row ${line}: has more than ${LIMITS.columns} columns`);
    length += text.length;
    if (length > LIMITS.rowLength) throw badFile(`row ${line}: is longer than ${LIMITS.rowLength / 1024} KiB`);
    while (cells.length < column) cells.push('');
    cells[column] = text;
  }

  return {
    open(name, attributes) {
      if (name === 'row') {
        line = Number(read.place(attributes) ?? line + 1);
        [cells, length, column] = [[], 0, -1];
      } else if (name === 'c') openCell(attributes);
      else inText = name === 'v' || name === 't';
    },
    text(part) {
      if (inText && cell) cell.text += part;
    },
    close(name) {
      inText = false;
      if (name === 'c') closeCell();
      if (name === 'row' && cells.length > 0) onRow({ line, cells });
    },
  };
}

/** Returns the column of a cell, from 0; undefined if the cell has no reference: then it follows the previous one. */
function columnOf(place: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(place ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function textOf({ type, style, text }: Cell, { strings, dates, from1904 }: Workbook): string {
  if (type === 's') return unescaped(strings[Number(text)] ?? '');
  if (type === 'str' || type === 'inlineStr') return unescaped(text);
  if (type === 'b') return text === '1' ? 'true' : 'false';
  if (type !== 'n' || text === '') return text;
  const number = Number(text);
  if (Number.isNaN(number)) return text;
  return dates.has(style) ? dateOf(number, from1904) : plain(number);
}

/** Formats a number without an exponent: Excel sometimes saves 393331234567 as 3.93331234567E11. */
const plain = (number: number): string => (Number.isSafeInteger(number) ? BigInt(number).toString() : String(number));

const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);

function dateOf(days: number, from1904: boolean): string {
  const date = new Date((from1904 ? EPOCH_1904 : EPOCH_1900) + Math.floor(days) * DAY_MS);
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().slice(0, 10);
}

/** Replaces escapes like `_x000D_`, by which Excel writes characters that XML cannot contain. */
const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;

/** Data needed to read the first sheet of a workbook. */
type Workbook = {
  /** The path of the sheet in the archive. */
  readonly sheet: string;
  readonly strings: readonly string[];
  /** The numbers of the cell styles that show numbers as dates. */
  readonly dates: ReadonlySet<number>;
  /** True if days are counted from 1904 instead of 1900. */
  readonly from1904: boolean;
};

/** Reads the description of the first sheet of a workbook. Errors: 400 for an archive that is not a workbook. */
async function readWorkbook(zip: Zip): Promise<Workbook> {
  const book = placeOf(await readRelations(zip, ''), 'officeDocument');
  if (book === undefined) throw badFile('is not an XLSX file: it has no workbook');
  const relations = await readRelations(zip, book);
  const { sheetId, from1904 } = await readSheets(zip, book);
  const sheet = relations.find(({ id }) => id === sheetId)?.target;
  if (sheet === undefined) throw badFile('is not an XLSX file: it has no sheet');
  const [stringsAt, stylesAt] = [placeOf(relations, 'sharedStrings'), placeOf(relations, 'styles')];
  return {
    sheet,
    from1904,
    strings: stringsAt !== undefined && zip.has(stringsAt) ? await readStrings(zip, stringsAt) : [],
    dates: stylesAt !== undefined && zip.has(stylesAt) ? await readDates(zip, stylesAt) : new Set(),
  };
}

const nothing = (): void => undefined;

/** Parses one document of the archive and calls the listener; yields after each piece of it. */
async function* parseInSteps(zip: Zip, name: string, listener: Partial<Listener>): AsyncGenerator<void> {
  const reader = createXmlReader({ open: nothing, text: nothing, close: nothing, ...listener });
  const decoder = new TextDecoder();
  for await (const bytes of zip.read(name)) {
    reader.write(decoder.decode(bytes, { stream: true }));
    yield;
  }
  reader.write(decoder.decode());
  reader.end();
  yield;
}

async function parseAll(zip: Zip, name: string, listener: Partial<Listener>): Promise<void> {
  for await (const _ of parseInSteps(zip, name, listener));
}

const readPart = {
  id: attributeReader('id'),
  date1904: attributeReader('date1904'),
  relationId: attributeReader('Id'),
  type: attributeReader('Type'),
  target: attributeReader('Target'),
  formatId: attributeReader('numFmtId'),
  formatCode: attributeReader('formatCode'),
};

type Relation = { readonly id: string; readonly type: string; readonly target: string };

const placeOf = (relations: readonly Relation[], kind: string): string | undefined =>
  relations.find(({ type }) => type.endsWith(`/${kind}`))?.target;

/** Reads the relations of a document, with paths from the root of the archive; '' is the archive itself. */
async function readRelations(zip: Zip, document: string): Promise<Relation[]> {
  const { dir, base } = posix.parse(document);
  const relations: Relation[] = [];
  await parseAll(zip, posix.join(dir, '_rels', `${base}.rels`), {
    open(name, attributes) {
      if (name !== 'Relationship') return;
      const target = posix.resolve('/', dir, readPart.target(attributes) ?? '').slice(1);
      relations.push({ id: readPart.relationId(attributes) ?? '', type: readPart.type(attributes) ?? '', target });
    },
  });
  return relations;
}

async function readSheets(zip: Zip, book: string): Promise<{ sheetId: string | undefined; from1904: boolean }> {
  let sheetId: string | undefined;
  let from1904 = false;
  await parseAll(zip, book, {
    open(name, attributes) {
      if (name === 'sheet') sheetId ??= readPart.id(attributes);
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(readPart.date1904(attributes) ?? '');
    },
  });
  return { sheetId, from1904 };
}

/**
 * Reads the texts to which cells refer by number. The runs of a text are joined; phonetic readings (rPh) are omitted.
 */
async function readStrings(zip: Zip, place: string): Promise<string[]> {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  let inReading = false;
  await parseAll(zip, place, {
    open(name) {
      if (name === 'si') text = '';
      if (name === 'rPh') inReading = true;
      inText = name === 't' && !inReading;
    },
    text(part) {
      if (inText) text += part;
    },
    close(name) {
      if (name === 't') inText = false;
      if (name === 'rPh') inReading = false;
      if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

/** Returns true if a number is a built-in format of dates or times (ECMA-376 18.8.30). */
const isBuiltInDate = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);
/** The literal text and the conditions of a format. An unclosed one extends to the end, so that none is tried twice. */
const LITERAL = /"[^"]*(?:"|$)|\\.|\[[^\]]*(?:\]|$)/g;
/** Returns true if a format shows dates. */
const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.replaceAll(LITERAL, ''));

async function readDates(zip: Zip, place: string): Promise<Set<number>> {
  const formats = new Map<number, boolean>();
  const dates = new Set<number>();
  let inCellStyles = false;
  let style = 0;
  await parseAll(zip, place, {
    open(name, attributes) {
      if (name === 'numFmt')
        formats.set(Number(readPart.formatId(attributes)), isDateFormat(readPart.formatCode(attributes) ?? ''));
      if (name === 'cellXfs') inCellStyles = true;
      if (name !== 'xf' || !inCellStyles) return;
      const format = Number(readPart.formatId(attributes) ?? 0);
      if (formats.get(format) ?? isBuiltInDate(format)) dates.add(style);
      style++;
    },
    close(name) {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return dates;
}

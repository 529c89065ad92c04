import { badFile, LIMITS, type RawRow } from '../limits.ts';
import { parseInSteps, readWorkbook, type Workbook } from './workbook.ts';
import { attributeReader, type Listener } from './xml.ts';
import { openZip } from './zip.ts';
import { DAY_MS } from '../../../../platform/lib/time.ts';

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

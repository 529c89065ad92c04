import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import type { NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import { readNumber } from '../../../platform/lib/phone/read-number.ts';
import type { FieldRow } from '../fields/sql.ts';
import { createRowCheck, storableText } from './check-row.ts';
import { looksLikeHeader, type Mapping, mapColumns, type Target } from './columns.ts';
import { badFile, LIMITS, type RawRow, tooLarge } from './limits.ts';
import { type CheckedRow, truncateCells } from './rows.ts';

/** How the rows of a file are to be interpreted. */
export type TableOptions = {
  /** Whether the first row has the names of the columns; null: it is detected. */
  readonly removeHead: boolean | null;
  readonly mapping: Mapping;
  readonly fields: readonly FieldRow[];
  readonly rules: NumberRules;
  /** How many rows the preview has. */
  readonly previewRows: number;
};

export type Column = { readonly name: string; readonly target: Target };

/** The columns of a table, its first rows as the file has them, and how many rows it has. */
export type Table = { readonly columns: readonly Column[]; readonly preview: string[][]; total: number };

/**
 * Checks a table row by row, and calls `onTable` after the last row.
 * Errors: 400 for a file without rows, for more than 200 columns, and for columns that cannot be interpreted; 413 for
 * more than two million rows.
 */
export async function* checkTable(
  rows: AsyncIterable<RawRow>,
  options: TableOptions,
  onTable: (table: Table) => void,
): AsyncGenerator<CheckedRow> {
  let check: ((row: RawRow) => CheckedRow) | undefined;
  const table = { columns: [] as readonly Column[], preview: [] as string[][], total: 0 };
  for await (const row of rows) {
    if (row.cells.every((cell) => cell.trim() === '')) continue;
    const isFirst = check === undefined;
    if (isFirst) table.columns = columnsOf(row.cells, options);
    check ??= createRowCheck({ ...options, targets: table.columns.map(({ target }) => target) });
    if (isFirst && hasHead(row.cells, options)) continue;
    if (++table.total > LIMITS.rows) throw tooLarge(`has more than ${LIMITS.rows.toLocaleString('en')} rows`);
    if (table.preview.length < options.previewRows)
      table.preview.push(truncateCells(row.cells.slice(0, table.columns.length).map(storableText)));
    yield check(row);
  }
  if (table.total === 0) throw badFile('has no rows');
  onTable(table);
}

const hasHead = (first: readonly string[], { removeHead }: TableOptions): boolean =>
  removeHead ?? looksLikeHeader(first);

function columnsOf(first: readonly string[], options: TableOptions): Column[] {
  const { columns, faults } = readColumns(first, options);
  if (faults.length > 0) throw invalidFields(faults);
  return columns;
}

function readColumns(first: readonly string[], options: TableOptions) {
  if (first.length > LIMITS.columns) throw badFile(`has ${first.length} columns; ${LIMITS.columns} are allowed`);
  const names = hasHead(first, options) ? first.map((name) => name.trim()) : first.map(() => '');
  const mapping = hasHead(first, options) ? options.mapping : withNumberColumn(first, options);
  const { targets, faults } = mapColumns(names, { mapping, fields: options.fields });
  const named = (name: string, i: number): Column => ({
    name: storableText(name) || `column ${i + 1}`,
    target: targets[i] ?? null,
  });
  return { columns: names.map(named), faults };
}

/** How a table begins, and how it would be interpreted. `faults`: why an import would refuse these columns. */
export type TablePreview = {
  readonly columns: readonly Column[];
  readonly hasHead: boolean;
  readonly preview: readonly string[][];
  readonly faults: readonly FieldError[];
};

/**
 * Reads the beginning of a table, only as far as the rows of the preview. Errors: 400 for a table without rows, or with
 * more than 200 columns.
 */
export async function previewTable(rows: AsyncIterable<RawRow>, options: TableOptions): Promise<TablePreview> {
  const first: string[][] = [];
  for await (const { cells } of rows) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (first.push([...cells]) > options.previewRows) break;
  }
  const [head] = first;
  if (head === undefined) throw badFile('has no rows');
  const { columns, faults } = readColumns(head, options);
  const isHead = hasHead(head, options);
  const shown = first.slice(isHead ? 1 : 0).slice(0, options.previewRows);
  const preview = shown.map((cells) => truncateCells(cells.slice(0, columns.length).map(storableText)));
  return { columns, hasHead: isHead, preview, faults };
}

/**
 * For a table without names of columns: maps the first column with a valid number, unless the mapping says which it is.
 */
function withNumberColumn(first: readonly string[], { mapping, rules }: TableOptions): Mapping {
  if (Object.values(mapping).some((field) => field?.toLowerCase() === 'phonenumber')) return mapping;
  const at = first.findIndex((cell) => 'e164' in readNumber(cell.trim(), rules));
  return at < 0 || String(at + 1) in mapping ? mapping : { ...mapping, [at + 1]: 'phoneNumber' };
}

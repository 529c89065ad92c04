import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import type { NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import { readNumber } from '../../../platform/lib/phone/read-number.ts';
import type { FieldRow } from '../fields/sql.ts';
import { createRowCheck, faultNameOf, storableText } from './check-row.ts';
import { type CountryGuess, guessCountry } from './cleaning/guess-country.ts';
import { type Cleaning, NO_CLEANING } from './cleaning/options.ts';
import { type CleaningReport, createReporter, type Reporter } from './cleaning/report.ts';
import { splitName } from './cleaning/split-name.ts';
import { looksLikeHeader, type Mapping, mapColumns, normalizedName, type Target } from './columns.ts';
import { badFile, LIMITS, type RawRow, tooLarge } from './limits.ts';
import { type CheckedRow, truncateCells } from './rows.ts';

/** Options for interpreting the rows of a file. */
export type TableOptions = {
  /** True if the first row has the names of the columns; null: it is detected. */
  readonly removeHead: boolean | null;
  readonly mapping: Mapping;
  readonly fields: readonly FieldRow[];
  readonly rules: NumberRules;
  /** Number of rows in the preview. */
  readonly previewRows: number;
  /** Options for cleaning faulty values; by default they reject their rows. */
  readonly cleaning?: Cleaning;
  /** Candidate countries for numbers without a country code: the report states how many rows each would cure. */
  readonly candidates?: readonly string[];
  /** The country of the account, if the file is read with another one. */
  readonly accountCountry?: string | null;
};

export type Column = { readonly name: string; readonly target: Target };

/** The columns of a table, its first rows as the file has them, the number of rows, and their faults. */
export type Table = {
  readonly columns: readonly Column[];
  readonly preview: readonly (readonly string[])[];
  readonly total: number;
  readonly cleaning: CleaningReport;
};

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
  const edits = editsOf(options);
  let checks: Checks | undefined;
  const table = { columns: [] as readonly Column[], preview: [] as string[][], total: 0 };
  for await (const original of rows) {
    const row = edited(original, edits);
    if (row.cells.every((cell) => cell.trim() === '')) continue;
    const isFirst = checks === undefined;
    if (isFirst) table.columns = columnsOf(row.cells, options);
    checks ??= checksOf(table.columns, options);
    if (isFirst && hasHead(row.cells, options)) continue;
    if (++table.total > LIMITS.rows) throw tooLarge(`has more than ${LIMITS.rows.toLocaleString('en')} rows`);
    if (table.preview.length < options.previewRows)
      table.preview.push(truncateCells(row.cells.slice(0, table.columns.length).map(storableText)));
    const checked = checks.check(row);
    checks.reporter.add(checked);
    yield withoutChanges(checked);
  }
  if (table.total === 0 || checks === undefined) throw badFile('has no rows');
  onTable({ ...table, cleaning: checks.reporter.report() });
}

type Checks = { readonly check: (row: RawRow) => CheckedRow; readonly reporter: Reporter };

function checksOf(
  columns: readonly Column[],
  { rules, cleaning = NO_CLEANING, candidates = [] }: TableOptions,
): Checks {
  const targets = columns.map(({ target }) => target);
  return {
    check: createRowCheck({ targets, rules, cleaning }),
    reporter: createReporter({ fields: targets.map(faultNameOf), rules, cleaning, candidates }),
  };
}

/** Returns a row without its changes: the report has them. */
function withoutChanges(row: CheckedRow): CheckedRow {
  if ('faults' in row || row.changes === undefined) return row;
  const { line, cells, phone } = row;
  return { line, cells, phone };
}

type Edits = ReadonlyMap<number, Readonly<Record<string, string>>>;

const editsOf = ({ cleaning }: TableOptions): Edits =>
  new Map((cleaning?.edits ?? []).map(({ line, cells }) => [line, cells]));

/** Replaces the cells of a row that a person has changed. */
function edited(row: RawRow, edits: Edits): RawRow {
  const cells = edits.get(row.line);
  if (cells === undefined) return row;
  const length = Math.max(row.cells.length, ...Object.keys(cells).map(Number));
  if (length > LIMITS.columns) return row;
  return { line: row.line, cells: Array.from({ length }, (_, i) => cells[i + 1] ?? row.cells[i] ?? '') };
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

/** The beginning of a table and its interpretation. `faults`: why an import would reject these columns. */
export type TablePreview = {
  readonly columns: readonly Column[];
  readonly hasHead: boolean;
  readonly preview: readonly (readonly string[])[];
  readonly faults: readonly FieldError[];
  readonly guess: CountryGuess;
  /** The result of splitting the first whole names, if the cleaning splits names. */
  readonly names: readonly { readonly name: string; readonly firstName: string; readonly lastName: string | null }[];
};

/** Number of rows that are examined to guess the country. */
const SAMPLE_ROWS = 500;

/**
 * Reads the beginning of a table: the rows of the preview, and some more to guess the country of its numbers. Errors:
 * 400 for a table without rows, or with more than 200 columns.
 */
export async function previewTable(rows: AsyncIterable<RawRow>, options: TableOptions): Promise<TablePreview> {
  const first: string[][] = [];
  for await (const { cells } of rows) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (first.push([...cells]) > Math.max(options.previewRows, SAMPLE_ROWS)) break;
  }
  const [head] = first;
  if (head === undefined) throw badFile('has no rows');
  const { columns, faults } = readColumns(head, options);
  const isHead = hasHead(head, options);
  const body = first.slice(isHead ? 1 : 0);
  const preview = body
    .slice(0, options.previewRows)
    .map((cells) => truncateCells(cells.slice(0, columns.length).map(storableText)));
  const guess = guessOf(columns, body, options);
  return { columns, hasHead: isHead, preview, faults, guess, names: splitNames(columns, preview, options) };
}

function guessOf(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): CountryGuess {
  const { rules, accountCountry = rules.defaultCountry } = options;
  const names = columns.map(({ name }) => normalizedName(name));
  const numberAt = columns.findIndex(({ target }) => target && 'field' in target && target.field === 'phoneNumber');
  return guessCountry({ names, rows, numberAt, accountCountry });
}

function splitNames(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { cleaning }: TableOptions,
): TablePreview['names'] {
  const at = columns.findIndex(({ target }) => target && 'field' in target && target.field === 'fullName');
  const order = cleaning?.names ?? 'keep';
  if (at < 0 || order === 'keep') return [];
  return rows.flatMap((cells) => {
    const name = cells[at]?.trim() ?? '';
    if (name === '') return [];
    const { firstName, lastName } = splitName(name, order);
    return [{ name, firstName, lastName }];
  });
}

/** Maps, for a table without column names, the first column with a valid number, unless the mapping names it. */
function withNumberColumn(first: readonly string[], { mapping, rules }: TableOptions): Mapping {
  if (Object.values(mapping).some((field) => field?.toLowerCase() === 'phonenumber')) return mapping;
  const at = first.findIndex((cell) => 'e164' in readNumber(cell.trim(), rules));
  return at < 0 || String(at + 1) in mapping ? mapping : { ...mapping, [at + 1]: 'phoneNumber' };
}

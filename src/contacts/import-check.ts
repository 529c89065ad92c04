import { CHANNELS, type Channel } from '../core/channels.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { NUMBER_FAULTS, type NumberRules, type PhoneDetails, personOf, readNumber } from '../core/phone.ts';
import {
  byField,
  CONTACT_FIELDS,
  type FieldWith,
  fieldsWith,
  GENDERS,
  type Gender,
  type ImportedField,
} from './contact-fields.ts';
import { type FieldRow, type FieldType, type FieldValue, faultOfType, readText } from './fields.ts';
import {
  type Cleaning,
  type CleaningReport,
  type CountryGuess,
  createReporter,
  guessCountry,
  NO_CLEANING,
  type Reporter,
  readCleanDate,
  readCleanNumber,
  splitName,
} from './import-cleaning.ts';
import {
  looksLikeHeader,
  type Mapping,
  mapColumns,
  normalizedName,
  numberColumns,
  type Target,
} from './import-columns.ts';
import { type Cause, type Change, type CheckedRow, type RowFault, truncateCells } from './import-rows.ts';

/** Options for interpreting the rows of a file. */
export type TableOptions = {
  /** True if the first row has the names of the columns; null: it is detected. */
  readonly removeHead: boolean | null;
  readonly mapping: Mapping;
  readonly fields: readonly FieldRow[];
  readonly rules: NumberRules;
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
    check: createRowCheck({ columns, rules, cleaning }),
    reporter: createReporter({
      fields: targets.map(faultNameOf),
      dates: new Set(targets.flatMap((target) => (isDate(target) ? [`customFields.${target.custom}`] : []))),
      rules,
      cleaning,
      candidates,
    }),
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

type CellResult = { readonly value: FieldValue } | { readonly fault: string; readonly cause: Cause };

const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\].]+$/;
const isEmail = (text: string): boolean => text.length <= 254 && EMAIL.test(text);

const YES: ReadonlySet<string> = new Set(['true', 'yes', 'y', '1', 'x']);
const NO: ReadonlySet<string> = new Set(['false', 'no', 'n', '0']);

function textUpTo(maxLength: number) {
  const fault = `must have at most ${maxLength} characters`;
  return (cell: string): CellResult => (cell.length <= maxLength ? { value: cell } : { fault, cause: 'too_long' });
}

const READERS: Readonly<Record<ImportedField, (cell: string) => CellResult>> = {
  ...byField<Record<FieldWith<'maxLength'>, (cell: string) => CellResult>>(fieldsWith('maxLength'), (name) =>
    textUpTo(CONTACT_FIELDS[name].maxLength),
  ),
  // Reading a number needs more than its cell.
  phoneNumber: (cell) => ({ value: cell }),
  email: (cell) => orFault(valuesIn(cell).find(isEmail)?.toLowerCase(), 'is not an email address', 'email'),
  gender: (cell) => orFault(genderIn(cell), 'must be MALE, FEMALE or OTHER', 'gender'),
  isTest: (cell) => orFault(yesOrNo(cell), 'must be true or false', 'yes_or_no'),
  optedOut: (cell) =>
    orFault(readChannels(cell)?.join(','), 'must be channels (SMS, RCS, WHATSAPP), true or false', 'channels'),
};

/** The separator that Google Contacts writes between several numbers or addresses of one kind. */
export const VALUE_SEPARATOR = ':::';

const valuesIn = (cell: string): string[] =>
  cell
    .split(VALUE_SEPARATOR)
    .map((text) => text.trim())
    .filter((text) => text !== '');

const orFault = (value: FieldValue | undefined, fault: string, cause: Cause): CellResult =>
  value === undefined ? { fault, cause } : { value };

const genderIn = (cell: string): Gender | undefined =>
  GENDERS.find((gender) => [gender, gender[0]].includes(cell.toUpperCase()));

function yesOrNo(cell: string): boolean | undefined {
  const text = cell.toLowerCase();
  if (YES.has(text)) return true;
  return NO.has(text) ? false : undefined;
}

/**
 * Reads `SMS`, `sms; rcs`, or yes for all channels. No means no opt-out; like an empty cell, it never opts a contact
 * back in.
 */
function readChannels(cell: string): Channel[] | undefined {
  const all = yesOrNo(cell);
  if (all !== undefined) return all ? [...CHANNELS] : [];
  const names = cell
    .toUpperCase()
    .split(/[\s,;|]+/)
    .filter((name) => name !== '');
  const channels = CHANNELS.filter((channel) => names.includes(channel));
  return channels.length === new Set(names).size ? channels : undefined;
}

type Checking = {
  readonly columns: readonly Column[];
  readonly rules: NumberRules;
  readonly cleaning: Cleaning;
};

/** Faults and changes found in a row so far. */
type Findings = { readonly faults: RowFault[]; readonly changes: Change[] };

/**
 * Creates a function that checks the rows of a file one after the other and names every fault of a row, except those
 * that the cleaning cures. If several rows have the same number, the first good one counts, and the others are returned
 * as duplicates. Empty cells have no effect.
 */
function createRowCheck({ columns, rules, cleaning }: Checking): (row: RawRow) => CheckedRow {
  const targets = columns.map(({ target }) => target);
  const numbers = numberColumns(columns);
  const numbersAt = new Set(numbers.map(({ at }) => at));
  const dropped = new Set(cleaning.drop);
  /** The line of each phone number. As numbers they take a quarter of the memory of texts: 40 MB for a million. */
  const lines = new Map<number, number>();

  return ({ line, cells: raw }) => {
    const findings: Findings = { faults: [], changes: [] };
    const { faults, changes } = findings;
    const surplus = raw.slice(targets.length).join(' ').trim();
    if (surplus !== '') note(findings, tooManyCells(raw, targets), surplus, dropped);
    const given = numbers.flatMap(({ at, labelAt, name }) =>
      valuesIn(raw[at] ?? '').map((text) => ({ text, kind: `${name} ${raw[labelAt] ?? ''}` })),
    );
    const phone = numberIn(given, { rules, cleaning }, findings);
    const cells = targets.map((target, i) => {
      if (numbersAt.has(i)) return phone?.e164 ?? null;
      return target ? valueIn(raw[i] ?? '', target, findings, { dropped, cleaning }) : null;
    });
    if (faults.length > 0 || !phone) return { line, cells: toShow(raw, targets.length), faults };
    const number = Number(personOf(phone.e164).slice(1));
    const first = lines.get(number);
    if (first !== undefined)
      return { line, cells: toShow(raw, targets.length), faults: [duplicateOf(first)], doubled: true };
    lines.set(number, line);
    return { line, cells, phone, ...(changes.length > 0 && { changes }) };
  };
}

/** Records a fault, or that the cleaning dropped the value. */
function note({ faults, changes }: Findings, fault: RowFault, before: string, dropped: ReadonlySet<string>): void {
  if (dropped.has(fault.field)) changes.push({ cure: 'drop', field: fault.field, before, after: '' });
  else faults.push(fault);
}

/** Cuts a row for display: it may have a million more cells than there are columns. */
const toShow = (raw: readonly string[], columns: number): string[] => raw.slice(0, columns).map(storableText);

const duplicateOf = (line: number): RowFault => ({
  field: 'phoneNumber',
  cause: 'duplicate',
  message: `has the same number as line ${line}`,
});

const tooManyCells = (raw: readonly string[], targets: readonly Target[]): RowFault => ({
  field: 'row',
  cause: 'cells',
  message: `has ${raw.length} cells, more than the ${targets.length} columns`,
});

/** A number as a row has it, with what the names and labels of the file say of its kind. */
type GivenNumber = { readonly text: string; readonly kind: string };

/** Reads the number of a row: of several, the first that is most likely that of a handset. */
function numberIn(
  given: readonly GivenNumber[],
  { rules, cleaning }: Pick<Checking, 'rules' | 'cleaning'>,
  { faults, changes }: Findings,
): PhoneDetails | null {
  const read = given.map(({ text, kind }) => ({ kind, ...readCleanNumber(text, rules, cleaning) }));
  let found = read[0];
  for (const one of read.slice(1)) if (found && rankOf(one) < rankOf(found)) found = one;
  if (found && 'phone' in found) {
    if (found.change) changes.push(found.change);
    return found.phone;
  }
  const fault = found
    ? { cause: found.cause, message: NUMBER_FAULTS[found.fault] }
    : { cause: 'number_missing' as const, message: 'is missing: imported contacts are identified by their numbers' };
  faults.push({ field: 'phoneNumber', ...fault });
  return null;
}

/** Names and labels of numbers of handsets, in the languages of LANGUAGES, and of numbers that no person answers. */
const HANDSET =
  /mobil|movil|móvil|telemov|telemóv|\bcell|celular|handy|portable|komor|komór|\bcep\b|gsm|iphone|sms|whatsapp/i;
const NO_PHONE = /fax|pager|beeper/i;

/** Ranks a number that was read, or could not be; lower is better. */
function rankOf(read: { readonly kind: string } & ReturnType<typeof readCleanNumber>): number {
  if (!('phone' in read)) return 5;
  const { type } = read.phone;
  if (NO_PHONE.test(read.kind)) return 4;
  if (HANDSET.test(read.kind) && type !== 'FIXED_LINE') return 0;
  if (type === 'MOBILE') return 1;
  return type === null || type === 'FIXED_LINE_OR_MOBILE' ? 2 : 3;
}

/** Returns the name by which faults refer to the field of a column; null: it is ignored. */
function faultNameOf(target: Target): string | null {
  if (target === null) return null;
  return 'field' in target ? target.field : `customFields.${target.custom}`;
}

const isDate = (target: Target): target is Extract<Target, { custom: string }> =>
  target !== null && 'type' in target && target.type === 'date';

function valueIn(
  raw: string,
  target: NonNullable<Target>,
  findings: Findings,
  { dropped, cleaning }: { readonly dropped: ReadonlySet<string>; readonly cleaning: Cleaning },
): FieldValue | null {
  const cell = raw.trim();
  if (cell === '') return null;
  const read = 'field' in target ? READERS[target.field](cell) : readCustom(target.type, cell);
  const fault = 'fault' in read ? { message: read.fault, cause: read.cause } : unstorableFault(read.value);
  const field = faultNameOf(target) ?? 'row';
  const change = fault && isDate(target) ? readCleanDate(cell, field, cleaning) : null;
  if (change) {
    findings.changes.push(change);
    return change.after;
  }
  if (fault) note(findings, { field, ...fault }, cell, dropped);
  return 'value' in read && !fault ? read.value : null;
}

const readCustom = (type: FieldType, cell: string): CellResult =>
  orFault(readText({ type }, cell), faultOfType(type), 'type');

/** Returns true if PostgreSQL can store a text: it stores neither U+0000 nor lone surrogates. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
const unstorableFault = (value: FieldValue): Pick<RowFault, 'message' | 'cause'> | undefined =>
  typeof value !== 'string' || isStorable(value)
    ? undefined
    : { message: 'contains invalid characters', cause: 'characters' };

/** Replaces characters that PostgreSQL cannot store by U+FFFD, so that a text can be shown. */
const storableText = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');

const MIB = 1024 * 1024;

/** The limits of a file. A file beyond any of them is rejected as a whole, before anything is written. */
export const LIMITS = {
  /** The size of a CSV or vCard file. */
  textBytes: 200 * MIB,
  xlsxBytes: 20 * MIB,
  /** The size of all content that is read from an XLSX file, uncompressed. */
  unpackedBytes: 64 * MIB,
  rows: 2_000_000,
  columns: 200,
  /** The characters of one row, and of one physical line of a vCard. */
  rowLength: 64 * 1024,
} as const;

/** The error 400 for a faulty file; `message` is shown to people. */
export const badFile = (message: string): AppError => invalidFields([{ field: 'file', message }]);

/** The error 413 for a file that is too large; `message` is shown to people. */
export const tooLarge = (message: string): AppError =>
  new AppError('too_large', { message: `file: ${message}`, details: [{ field: 'file', message }] });

/** A row as the file has it, and the line (in a sheet: the row) where it begins, from 1. */
export type RawRow = { readonly line: number; readonly cells: readonly string[] };

import { CHANNELS, type Channel } from '../../../platform/lib/channel.ts';
import { NUMBER_FAULTS, type NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import type { PhoneDetails } from '../../../platform/lib/phone/phone-details.ts';
import { faultOfType, type FieldValue, readText } from '../fields/values.ts';
import type { FieldType } from '../fields/sql.ts';
import { toEmail } from '../read.ts';
import type { Cleaning } from './cleaning/options.ts';
import { readCleanNumber } from './cleaning/read-number.ts';
import type { Target } from './columns.ts';
import type { StandardField } from './header-names.ts';
import type { RawRow } from './limits.ts';
import type { Cause, Change, CheckedRow, RowFault } from './rows.ts';

/** The value of a cell as a contact stores it, or the error in it. */
type CellResult = { readonly value: FieldValue } | { readonly fault: string; readonly cause: Cause };

const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\].]+$/;
const GENDERS: Readonly<Record<string, string>> = {
  m: 'MALE',
  male: 'MALE',
  f: 'FEMALE',
  female: 'FEMALE',
  other: 'OTHER',
};
const YES: ReadonlySet<string> = new Set(['true', 'yes', 'y', '1', 'x']);
const NO: ReadonlySet<string> = new Set(['false', 'no', 'n', '0']);

const textUpTo =
  (maxLength: number) =>
  (cell: string): CellResult =>
    cell.length <= maxLength
      ? { value: cell }
      : { fault: `must have at most ${maxLength} characters`, cause: 'too_long' };

/** Readers of the fields, except the number, which needs more than its cell. */
const READERS: Readonly<Record<Exclude<StandardField, 'phoneNumber'>, (cell: string) => CellResult>> = {
  firstName: textUpTo(100),
  lastName: textUpTo(100),
  fullName: textUpTo(200),
  email: (cell) => {
    const email = valuesIn(cell).find(isEmail);
    return email === undefined
      ? { fault: 'is not an email address', cause: 'email' }
      : { value: toEmail(email) ?? email };
  },
  gender: (cell) =>
    orFault(
      GENDERS[cell.toLowerCase()] ?? (cell.toLowerCase() === 'o' ? 'OTHER' : undefined),
      'must be MALE, FEMALE or OTHER',
      'gender',
    ),
  isTest: (cell) => orFault(yesOrNo(cell), 'must be true or false', 'yes_or_no'),
  optedOut: (cell) =>
    orFault(readChannels(cell)?.join(','), 'must be channels (SMS, RCS, WHATSAPP), true or false', 'channels'),
};

const isEmail = (text: string): boolean => text.length <= 254 && EMAIL.test(text);

/** The separator that Google Contacts writes between several numbers or addresses of one kind. */
const GOOGLE_SEPARATOR = ':::';

const valuesIn = (cell: string): string[] =>
  cell
    .split(GOOGLE_SEPARATOR)
    .map((text) => text.trim())
    .filter((text) => text !== '');

const orFault = (value: FieldValue | undefined, fault: string, cause: Cause): CellResult =>
  value === undefined ? { fault, cause } : { value };

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

export type Checking = {
  readonly targets: readonly Target[];
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
export function createRowCheck({ targets, rules, cleaning }: Checking): (row: RawRow) => CheckedRow {
  const numberAt = targets.findIndex((target) => target && 'field' in target && target.field === 'phoneNumber');
  const dropped = new Set(cleaning.drop);
  /** The line of each phone number. As numbers they take a quarter of the memory of texts: 40 MB for a million. */
  const lines = new Map<number, number>();

  return ({ line, cells: raw }) => {
    const findings: Findings = { faults: [], changes: [] };
    const { faults, changes } = findings;
    const surplus = raw.slice(targets.length).join(' ').trim();
    if (surplus !== '') note(findings, tooManyCells(raw, targets), surplus, dropped);
    const phone = numberIn(raw[numberAt] ?? '', { rules, cleaning }, findings);
    const cells = targets.map((target, i) => {
      if (i === numberAt) return phone?.e164 ?? null;
      return target ? valueIn(raw[i] ?? '', target, findings, dropped) : null;
    });
    if (faults.length > 0 || !phone) return { line, cells: toShow(raw, targets.length), faults };
    const number = Number(phone.e164.slice(1));
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

/** Reads the number of a row: of several in its cell, the first that can be read. */
function numberIn(
  raw: string,
  { rules, cleaning }: Pick<Checking, 'rules' | 'cleaning'>,
  { faults, changes }: Findings,
): PhoneDetails | null {
  const read = valuesIn(raw).map((value) => readCleanNumber(value, rules, cleaning));
  const found = read.find((one) => 'phone' in one) ?? read[0];
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

/** Returns the name by which faults refer to the field of a column; null: it is ignored. */
export function faultNameOf(target: Target): string | null {
  if (target === null) return null;
  return 'field' in target ? target.field : `customFields.${target.custom}`;
}

function valueIn(
  raw: string,
  target: NonNullable<Target>,
  findings: Findings,
  dropped: ReadonlySet<string>,
): FieldValue | null {
  const cell = raw.trim();
  if (cell === '') return null;
  const read = 'field' in target ? readField(target.field, cell) : readCustom(target.type, cell);
  const fault = 'fault' in read ? { message: read.fault, cause: read.cause } : unstorableFault(read.value);
  if (fault) note(findings, { field: faultNameOf(target) ?? 'row', ...fault }, cell, dropped);
  return 'value' in read && !fault ? read.value : null;
}

const readField = (field: StandardField, cell: string): CellResult =>
  field === 'phoneNumber' ? { value: cell } : READERS[field](cell);

const readCustom = (type: FieldType, cell: string): CellResult =>
  orFault(readText({ type }, cell), faultOfType(type), 'type');

/** Returns true if PostgreSQL can store a text: it stores neither U+0000 nor lone surrogates. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
const unstorableFault = (value: FieldValue): Pick<RowFault, 'message' | 'cause'> | undefined =>
  typeof value !== 'string' || isStorable(value)
    ? undefined
    : { message: 'contains invalid characters', cause: 'characters' };

/** Replaces characters that PostgreSQL cannot store by U+FFFD, so that a text can be shown. */
export const storableText = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');

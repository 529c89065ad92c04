import type { FieldError } from '../../../platform/errors.ts';
import { CHANNELS, type Channel } from '../../../platform/lib/channel.ts';
import { NUMBER_FAULTS, type NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import { describeNumber, type PhoneDetails } from '../../../platform/lib/phone/phone-details.ts';
import { faultOfType, type FieldValue, readText } from '../fields/values.ts';
import type { FieldType } from '../fields/sql.ts';
import { toEmail } from '../read.ts';
import type { StandardField, Target } from './columns.ts';
import type { RawRow } from './limits.ts';
import type { CheckedRow } from './rows.ts';

/** The value of a cell as a contact stores it, or what is wrong with it. */
type CellResult = { readonly value: FieldValue } | { readonly fault: string };

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
    cell.length <= maxLength ? { value: cell } : { fault: `must have at most ${maxLength} characters` };

/** How to read each field, except the number, which needs more than its cell. */
const READERS: Readonly<Record<Exclude<StandardField, 'phoneNumber'>, (cell: string) => CellResult>> = {
  firstName: textUpTo(100),
  lastName: textUpTo(100),
  fullName: textUpTo(200),
  email: (cell) => {
    const email = valuesIn(cell).find(isEmail);
    return email === undefined ? { fault: 'is not an e-mail address' } : { value: toEmail(email) ?? email };
  },
  gender: (cell) =>
    orFault(
      GENDERS[cell.toLowerCase()] ?? (cell.toLowerCase() === 'o' ? 'OTHER' : undefined),
      'must be MALE, FEMALE or OTHER',
    ),
  isTest: (cell) => orFault(yesOrNo(cell), 'must be true or false'),
  optedOut: (cell) => orFault(readChannels(cell)?.join(','), 'must be channels (SMS, RCS, WHATSAPP), true or false'),
};

const isEmail = (text: string): boolean => text.length <= 254 && EMAIL.test(text);

/** What Google Contacts writes between several numbers or addresses of one kind. */
const GOOGLE_SEPARATOR = ':::';

const valuesIn = (cell: string): string[] =>
  cell
    .split(GOOGLE_SEPARATOR)
    .map((text) => text.trim())
    .filter((text) => text !== '');

const orFault = (value: FieldValue | undefined, fault: string): CellResult =>
  value === undefined ? { fault } : { value };

function yesOrNo(cell: string): boolean | undefined {
  const text = cell.toLowerCase();
  if (YES.has(text)) return true;
  return NO.has(text) ? false : undefined;
}

/**
 * Reads `SMS`, `sms; rcs`, or yes for all channels. No means no opt-out; like an empty cell, it opts nobody in again.
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

export type Checking = { readonly targets: readonly Target[]; readonly rules: NumberRules };

/**
 * Creates a function that checks the rows of a file one after the other and names every fault of a row. If several rows
 * have the same number, the first good one counts, and the others come back as duplicates. Empty cells have no effect.
 */
export function createRowCheck({ targets, rules }: Checking): (row: RawRow) => CheckedRow {
  const numberAt = targets.findIndex((target) => target && 'field' in target && target.field === 'phoneNumber');
  /** The line of each phone number. As numbers they take a quarter of the memory of texts: 40 MB for a million. */
  const lines = new Map<number, number>();

  return ({ line, cells: raw }) => {
    const faults: FieldError[] = [];
    if (raw.length > targets.length) faults.push(tooManyCells(raw, targets));
    const phone = numberIn(raw[numberAt] ?? '', rules, faults);
    const cells = targets.map((target, i) => {
      if (i === numberAt) return phone?.e164 ?? null;
      return target ? valueIn(raw[i] ?? '', target, faults) : null;
    });
    if (faults.length > 0 || !phone) return { line, cells: toShow(raw, targets.length), faults };
    const number = Number(phone.e164.slice(1));
    const first = lines.get(number);
    if (first !== undefined)
      return { line, cells: toShow(raw, targets.length), faults: [duplicateOf(first)], doubled: true };
    lines.set(number, line);
    return { line, cells, phone };
  };
}

/** Cuts a row to be shown: it may have a million more cells than there are columns. */
const toShow = (raw: readonly string[], columns: number): string[] => raw.slice(0, columns).map(storableText);

const duplicateOf = (line: number): FieldError => ({
  field: 'phoneNumber',
  message: `has the same number as line ${line}`,
});

const tooManyCells = (raw: readonly string[], targets: readonly Target[]): FieldError => ({
  field: 'row',
  message: `has ${raw.length} cells, more than the ${targets.length} columns`,
});

/** Reads the number of a row: of several in its cell, the first that can be read. */
function numberIn(raw: string, rules: NumberRules, faults: FieldError[]): PhoneDetails | null {
  const read = valuesIn(raw).map((value) => describeNumber(value, rules));
  const phone = read.find((one) => !('fault' in one)) ?? read[0];
  if (phone && !('fault' in phone)) return phone;
  const message = phone ? NUMBER_FAULTS[phone.fault] : 'is missing: imported contacts are identified by their numbers';
  faults.push({ field: 'phoneNumber', message });
  return null;
}

function valueIn(raw: string, target: NonNullable<Target>, faults: FieldError[]): FieldValue | null {
  const cell = raw.trim();
  if (cell === '') return null;
  const [field, read] =
    'field' in target
      ? [target.field, readField(target.field, cell)]
      : [`customFields.${target.custom}`, readCustom(target.type, cell)];
  const fault = 'fault' in read ? read.fault : unstorableFault(read.value);
  if (fault !== undefined) faults.push({ field, message: fault });
  return 'value' in read ? read.value : null;
}

const readField = (field: StandardField, cell: string): CellResult =>
  field === 'phoneNumber' ? { value: cell } : READERS[field](cell);

const readCustom = (type: FieldType, cell: string): CellResult => orFault(readText({ type }, cell), faultOfType(type));

/** Whether PostgreSQL can store a text: it stores neither U+0000 nor lone surrogates. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
const unstorableFault = (value: FieldValue): string | undefined =>
  typeof value !== 'string' || isStorable(value) ? undefined : 'contains invalid characters';

/** Replaces what PostgreSQL cannot store by U+FFFD, so that a text can be shown. */
export const storableText = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');

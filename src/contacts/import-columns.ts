import { type FieldError, invalidFields } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import {
  CONTACT_FIELDS,
  IMPORTED_FIELDS,
  type ImportedField,
  LANGUAGES,
  namesIn,
  propertyOf,
} from './contact-fields.ts';
import type { FieldRow, FieldType } from './fields.ts';

/** The field that a column becomes; null: it is ignored. A custom field without an id does not exist yet. */
export type Target =
  | { readonly field: ImportedField }
  | { readonly custom: string; readonly type: FieldType; readonly id: number | null }
  | null;

/**
 * The mapping of a request: from names of columns, or their positions from 1, to names of fields; null ignores a
 * column.
 */
export type Mapping = Readonly<Record<string, string | null>>;

const HEADERS = propertyOf('headers');

/** Names in the heads of files that are ignored: what a file of rejected rows adds, and fields that cannot be set. */
const IGNORED_NAMES = ['importline', 'importerror', ...Object.keys(CONTACT_FIELDS).map(foldText)];

const BY_ALIAS: ReadonlyMap<string, Target> = new Map([
  ...IGNORED_NAMES.map((name) => [name, null] as const),
  ...IMPORTED_FIELDS.flatMap((field) => HEADERS[field].exact.split(' ').map((name) => [name, { field }] as const)),
]);

/**
 * Names of columns of Google Contacts and Outlook that have a further number of a person. A fax or a pager is none of
 * them.
 */
const FURTHER_NUMBER =
  /^(?:phone\d{1,2}value|(?:home|business|work|other|car|radio|primary|company|companymain|assistants?)(?:tele)?phone(?:number)?\d?)$/;

const aliasOf = (name: string): Target | undefined =>
  FURTHER_NUMBER.test(name) ? { field: 'phoneNumber' } : BY_ALIAS.get(name);

/** Names in other languages. They count if no other column has the field, and if no custom field has the name. */
const BY_FOREIGN_NAME: ReadonlyMap<string, ImportedField> = new Map(
  IMPORTED_FIELDS.flatMap((field) =>
    LANGUAGES.flatMap((language) => namesIn(language, field).map((name) => [name, field] as const)),
  ).filter(([name]) => !BY_ALIAS.has(name)),
);

/**
 * Returns the letters and digits of a name, in lower case and without accents, so that `Phone number`, `phone_number`
 * and `phoneNumber` are the same.
 */
export const normalizedName = (name: string): string => withoutAccents(foldText(name)).replaceAll(/[^a-z0-9]/g, '');
/** Some letters are not an accented form of another letter, and have to be listed. */
const withoutAccents = (name: string): string =>
  name.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll('ł', 'l').replaceAll('ø', 'o').replaceAll('ß', 'ss');

/**
 * Returns true if a row has the names of the columns: at least one of its cells is a known name. A name in another
 * language may also be a value, so no other cell of such a row may look like a phone number.
 */
export function looksLikeHeader(cells: readonly string[]): boolean {
  const names = cells.map(normalizedName);
  if (names.some((name) => aliasOf(name) !== undefined)) return true;
  return names.some((name) => BY_FOREIGN_NAME.has(name)) && !cells.some(isLikeNumber);
}

const isLikeNumber = (cell: string): boolean => cell.replaceAll(/\D/g, '').length >= 6;

type Columns = { readonly targets: readonly Target[]; readonly faults: readonly FieldError[] };

/**
 * Finds the field of each column: the one that the mapping names, or else the standard field with its name, or else the
 * custom field with its name, which may be a new text field, unless the name is that of a standard field in one of
 * eleven other languages and no column has that field yet. A column without a name is ignored. Several columns may have
 * numbers. Faults: the mapping has a column that is not in the file, two columns have the same other field, or none has
 * the number.
 */
export function mapColumns(
  head: readonly string[],
  { mapping, fields }: { mapping: Mapping; fields: readonly FieldRow[] },
): Columns {
  const { asked, faults } = readMapping(head, mapping);
  const isGoogle = head.some((name) => normalizedName(name) === GOOGLE_NUMBER);
  const byName = new Map(fields.toReversed().map((field) => [normalizedName(field.name), field]));
  const first = head.map((name, i) => {
    const wanted = asked.get(i);
    if (wanted === null || (isGoogle && wanted === undefined && isGoogleLabel(name))) return null;
    return targetOf(wanted ?? name, i, byName);
  });
  const targets = withForeignNames(head, first, asked);
  return { targets, faults: [...faults, ...duplicateFieldFaults(head, targets), ...missingNumberFaults(targets)] };
}

/** Gives columns that would be new custom fields the standard fields that their names mean in another language. */
function withForeignNames(
  head: readonly string[],
  targets: readonly Target[],
  asked: ReadonlyMap<number, string | null>,
): readonly Target[] {
  const taken = new Set(targets.flatMap((target) => (target && 'field' in target ? [target.field] : [])));
  const found = targets.map((target, i) => {
    if (asked.has(i) || !target || 'field' in target || target.id !== null) return target;
    const field = BY_FOREIGN_NAME.get(normalizedName(head[i] ?? ''));
    if (field === undefined || taken.has(field)) return target;
    taken.add(field);
    return { field } as const;
  });
  const hasFirst = found.some(
    (target, i) => target && 'field' in target && target.field === 'firstName' && target !== targets[i],
  );
  if (!hasFirst || taken.has('lastName')) return found;
  const isFamilyName = (i: number): boolean => !asked.has(i) && FAMILY_NAMES.has(normalizedName(head[i] ?? ''));
  return found.map((target, i) => (isFamilyName(i) ? { field: 'lastName' as const } : target));
}

/** Column names that mean the last name next to a first name: `Vorname;Name`. */
const FAMILY_NAMES: ReadonlySet<string> = new Set(['name', 'nume', 'naam', 'navn', 'namn']);

/** The column that only files of Google Contacts have. */
const GOOGLE_NUMBER = 'phone1value';

/**
 * Returns true if a column of Google Contacts only describes another (`Phone 1 - Label`) or lists a person's groups.
 */
const isGoogleLabel = (name: string): boolean =>
  /^[^\d]*\d+ - (?:label|type)$/i.test(name.trim()) || ['labels', 'groupmembership'].includes(normalizedName(name));

function readMapping(head: readonly string[], mapping: Mapping) {
  const asked = new Map<number, string | null>();
  const faults: FieldError[] = [];
  const findPlace = createPlaceFinder(head);
  for (const [column, field] of Object.entries(mapping)) {
    const at = findPlace(column);
    if (at === undefined) faults.push({ field: 'mapping', message: `the file has no column "${column}"` });
    else asked.set(at, field);
  }
  return { asked, faults };
}

/** Finds the position of a column by its name as written, or else in another spelling, or else by its number. */
function createPlaceFinder(head: readonly string[]): (column: string) => number | undefined {
  const exact = firstPlaces(head);
  const normalized = firstPlaces(head.map(normalizedName));
  return (column) => {
    const name = normalizedName(column);
    const named = exact.get(column) ?? (name === '' ? undefined : normalized.get(name));
    if (named !== undefined) return named;
    return /^\d{1,4}$/.test(column) && Number(column) <= head.length ? Number(column) - 1 : undefined;
  };
}

function firstPlaces(names: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, name] of names.entries()) if (!places.has(name)) places.set(name, at);
  return places;
}

const CUSTOM_PREFIX = /^customField\./i;

function targetOf(name: string, at: number, fields: ReadonlyMap<string, FieldRow>): Target {
  const own = name.replace(CUSTOM_PREFIX, '');
  const known = own === name ? aliasOf(normalizedName(name)) : undefined;
  if (known !== undefined) return known;
  const field = fields.get(normalizedName(own));
  if (field) return { custom: field.name, type: field.type, id: field.id };
  return own.trim() === '' ? null : { custom: fieldNameOf(own) || `column_${at + 1}`, type: 'text', id: null };
}

const MAX_NAME_LENGTH = 63;

/** Makes a valid name of a custom field. It is empty if the name has no Latin letters or digits. */
function fieldNameOf(name: string): string {
  const text = withoutAccents(name)
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  if (text === '') return '';
  return (/^\d/.test(text) ? `field_${text}` : text).slice(0, MAX_NAME_LENGTH);
}

const nameOf = (target: NonNullable<Target>): string => ('field' in target ? target.field : target.custom);

function duplicateFieldFaults(head: readonly string[], targets: readonly Target[]): FieldError[] {
  const places = Map.groupBy(targets.keys(), (i) => {
    const target = targets[i];
    return target ? foldText(nameOf(target)) : '';
  });
  return [...places].flatMap(([name, at]) => {
    if (name === '' || name === 'phonenumber' || at.length < 2) return [];
    const columns = at.map((i) => `${i + 1} ("${head[i]?.slice(0, 60)}")`).join(' and ');
    return [{ field: 'file', message: `columns ${columns} have the same field: choose one with "mapping"` }];
  });
}

/** A column of numbers, and the column that says in each row what kind of number it has; -1 if there is none. */
type NumberColumn = { readonly at: number; readonly labelAt: number; readonly name: string };

/** Returns the columns that have numbers, in their order, with the labels of Google Contacts (`Phone 1 - Type`). */
export function numberColumns(columns: readonly { readonly name: string; readonly target: Target }[]): NumberColumn[] {
  const places = firstPlaces(columns.map(({ name }) => normalizedName(name)));
  return columns.flatMap(({ name, target }, at) => {
    if (!target || nameOf(target) !== 'phoneNumber') return [];
    const [, stem] = /^(.*\d)value$/.exec(normalizedName(name)) ?? [];
    const labelAt = stem === undefined ? undefined : (places.get(`${stem}label`) ?? places.get(`${stem}type`));
    return [{ at, labelAt: labelAt ?? -1, name }];
  });
}

const missingNumberFaults = (targets: readonly Target[]): FieldError[] =>
  targets.some((target) => target && nameOf(target) === 'phoneNumber')
    ? []
    : [{ field: 'file', message: 'has no column of phone numbers: name it phoneNumber, or map it with "mapping"' }];

/** The settings of an upload, from the fields of its form. */
export type Settings = {
  readonly fileName: string;
  readonly removeHead: boolean | null;
  readonly previewRows: number;
  readonly listId: number | null;
  readonly dryRun: boolean;
  readonly mapping: Mapping;
};

const DEFAULT_PREVIEW = 10;
const MAX_PREVIEW = 100;
const MAX_SETTING_LENGTH = 255;

/**
 * Reads the settings of an upload. `partName` is the file name of the part. Unknown fields are ignored, and empty ones
 * have no effect. Errors: 400 naming every faulty field.
 */
export function readSettings(fields: ReadonlyMap<string, string>, partName: string): Settings {
  const faults: FieldError[] = [];
  const read = <T>(field: string, fallback: T, parse: (text: string) => T | undefined, must: string): T => {
    const text = fields.get(field)?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) faults.push({ field, message: must });
    return value ?? fallback;
  };
  const settings = {
    fileName: read('fileName', partName, readName, `must have at most ${MAX_SETTING_LENGTH} characters`),
    removeHead: read<boolean | null>('removeHead', null, readBoolean, 'must be true or false'),
    previewRows: read('limit', DEFAULT_PREVIEW, readInteger(0, MAX_PREVIEW), `must be from 0 to ${MAX_PREVIEW}`),
    listId: read<number | null>('listId', null, readInteger(1, Number.MAX_SAFE_INTEGER), 'must be the id of a list'),
    dryRun: read('dryRun', false, readBoolean, 'must be true or false'),
    mapping: read<Mapping>('mapping', {}, readMappingSetting, 'must be JSON: {"column": "field", "another": null}'),
  };
  if (faults.length > 0) throw invalidFields(faults);
  return { ...settings, fileName: settings.fileName.replaceAll('\0', '').toWellFormed().slice(0, MAX_SETTING_LENGTH) };
}

const readName = (text: string): string | undefined => (text.length <= MAX_SETTING_LENGTH ? text : undefined);

function readBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : undefined;
}

const readInteger =
  (min: number, max: number) =>
  (text: string): number | undefined =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;

function readMappingSetting(text: string): Mapping | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).map(([column, field]) => [column, field === '' ? null : field] as const);
  return entries.every(isPair) ? Object.fromEntries(entries) : undefined;
}

const isPair = (entry: readonly [string, unknown]): entry is readonly [string, string | null] =>
  entry[1] === null || (typeof entry[1] === 'string' && entry[1].length <= 100);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

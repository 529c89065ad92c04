import type { FieldError } from '../../../platform/errors.ts';
import type { FieldRow, FieldType } from '../fields/sql.ts';

/** What a column of a file can be of a contact, besides a custom field. */
export const STANDARD_FIELDS = [
  'phoneNumber',
  'firstName',
  'lastName',
  'fullName',
  'email',
  'gender',
  'isTest',
  'optedOut',
] as const;
export type StandardField = (typeof STANDARD_FIELDS)[number];

/** What a column becomes; null: it is passed over. A custom field without an id is yet to be made. */
export type Target =
  | { readonly field: StandardField }
  | { readonly custom: string; readonly type: FieldType; readonly id: number | null }
  | null;

/** From the request: names of columns, or their places from 1, to names of fields; null passes a column over. */
export type Mapping = Readonly<Record<string, string | null>>;

/** Names by which files call the fields, as `bare` leaves them. Phones and mail programs export under these. */
const ALIASES: Readonly<Record<StandardField, string>> = {
  phoneNumber:
    'phonenumber phone number mobile mobilephone mobilenumber cell cellphone msisdn tel telephone telephonenumber ' +
    'primaryphone phone1value cellulare telefono destination',
  firstName: 'firstname givenname forename nome',
  lastName: 'lastname surname familyname cognome',
  fullName: 'fullname name displayname contactname',
  email: 'email mail emailaddress email1value',
  gender: 'gender sex',
  isTest: 'istest test',
  optedOut: 'optedout optout unsubscribed',
};
/** What we say of contacts and nobody can set, and what a file of rejected rows has besides. */
const IGNORED_NAMES =
  'id isvalid numbertype country communicationsupported lastcontacttype lastcontactdate lastcampaigntype customfields ' +
  'createdat updatedat importline importerror';

const BY_ALIAS: ReadonlyMap<string, Target> = new Map([
  ...STANDARD_FIELDS.flatMap((field) => ALIASES[field].split(' ').map((name) => [name, { field }] as const)),
  ...IGNORED_NAMES.split(' ').map((name) => [name, null] as const),
]);

/** Letters and digits alone, in lower case and without accents: `Phone number`, `phone_number` and `phoneNumber` are one. */
const normalizedName = (name: string): string =>
  withoutAccents(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
const withoutAccents = (name: string): string => name.normalize('NFKD').replaceAll(/\p{M}/gu, '');

/** Whether a row is names of columns: one of its cells is a name that we know. */
export const looksLikeHeader = (cells: readonly string[]): boolean =>
  cells.some((cell) => BY_ALIAS.has(normalizedName(cell)));

export type Columns = { readonly targets: readonly Target[]; readonly faults: readonly FieldError[] };

/**
 * What each column becomes: what the mapping says, else the field that its name means, else the custom field of that name,
 * which may be a new one for texts. A column without a name is passed over.
 * Faults: a column that the mapping names and the file has not, two columns for one field, none for the number.
 */
export function mapColumns(
  head: readonly string[],
  { mapping, fields }: { mapping: Mapping; fields: readonly FieldRow[] },
): Columns {
  const { asked, faults } = readMapping(head, mapping);
  const targets = head.map((name, i) => {
    const wanted = asked.get(i);
    if (wanted === null) return null;
    return targetOf(wanted ?? name, i, fields);
  });
  return { targets, faults: [...faults, ...duplicateFieldFaults(head, targets), ...missingNumberFaults(targets)] };
}

function readMapping(head: readonly string[], mapping: Mapping) {
  const asked = new Map<number, string | null>();
  const faults: FieldError[] = [];
  for (const [column, field] of Object.entries(mapping)) {
    const at = placeOf(head, column);
    if (at < 0) faults.push({ field: 'mapping', message: `the file has no column "${column}"` });
    else asked.set(at, field);
  }
  return { asked, faults };
}

function placeOf(head: readonly string[], column: string): number {
  const exact = head.indexOf(column);
  if (exact >= 0) return exact;
  const named = head.findIndex(
    (name) => normalizedName(name) !== '' && normalizedName(name) === normalizedName(column),
  );
  if (named >= 0) return named;
  return /^\d{1,4}$/.test(column) && Number(column) <= head.length ? Number(column) - 1 : -1;
}

const CUSTOM_PREFIX = /^customField\./i;

function targetOf(name: string, at: number, fields: readonly FieldRow[]): Target {
  const own = name.replace(CUSTOM_PREFIX, '');
  const known = own === name ? BY_ALIAS.get(normalizedName(name)) : undefined;
  if (known !== undefined) return known;
  const field = fields.find((each) => normalizedName(each.name) === normalizedName(own));
  if (field) return { custom: field.name, type: field.type, id: field.id };
  return own.trim() === '' ? null : { custom: fieldNameOf(own) || `column_${at + 1}`, type: 'text', id: null };
}

const MAX_NAME_LENGTH = 63;

/** As names of custom fields must be. Empty for a name in other letters than Latin ones. */
function fieldNameOf(name: string): string {
  const word = withoutAccents(name)
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  if (word === '') return '';
  return (/^\d/.test(word) ? `field_${word}` : word).slice(0, MAX_NAME_LENGTH);
}

const nameOf = (target: NonNullable<Target>): string => ('field' in target ? target.field : target.custom);

function duplicateFieldFaults(head: readonly string[], targets: readonly Target[]): FieldError[] {
  const places = Map.groupBy(targets.keys(), (i) => {
    const target = targets[i];
    return target ? nameOf(target).toLowerCase() : '';
  });
  return [...places].flatMap(([name, at]) => {
    if (name === '' || at.length < 2) return [];
    const columns = at.map((i) => `${i + 1} ("${head[i]?.slice(0, 60)}")`).join(' and ');
    return [{ field: 'file', message: `columns ${columns} are the same field: choose one by "mapping"` }];
  });
}

const missingNumberFaults = (targets: readonly Target[]): FieldError[] =>
  targets.some((target) => target && nameOf(target) === 'phoneNumber')
    ? []
    : [{ field: 'file', message: 'has no column of phone numbers: call it phoneNumber, or name it in "mapping"' }];

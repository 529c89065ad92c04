import type { FieldRow } from '../../contacts/fields/sql.ts';
import { type CustomField, type Field, parseText, STANDARD_FIELDS, type StandardField } from '../text/parse.ts';
import type { PreviewRow } from './sql.ts';

/** A placeholder that the texts of a campaign may use. */
export type PlaceholderName = {
  readonly name: string;
  readonly custom: boolean;
  readonly type: FieldRow['type'];
  readonly description: string;
  readonly field: NonNullable<Field>;
};

/** Returns all placeholders of an account: the standard fields of contacts, then its custom fields. */
export const placeholdersWith = (customFields: readonly FieldRow[]): PlaceholderName[] => [
  ...STANDARD_FIELDS.map((field) => ({ name: field, custom: false, type: 'text' as const, description: '', field })),
  ...customFields.map(({ id, name, type, description }) => ({
    name,
    custom: true,
    type,
    description,
    field: { customId: id },
  })),
];

const STANDARD: Readonly<Record<StandardField, (recipient: PreviewRow) => string | null>> = {
  fullName: ({ fullName }) => fullName,
  firstName: ({ firstName }) => firstName,
  lastName: ({ lastName }) => lastName,
  name: ({ fullName, phoneNumber }) => fullName || phoneNumber,
  gender: ({ gender }) => gender,
  phoneNumber: ({ phoneNumber }) => phoneNumber,
  email: ({ email }) => email,
};

/** Returns true if a recipient has a non-empty value in a field. */
export function isFilled(recipient: PreviewRow, field: NonNullable<Field>): boolean {
  const value =
    typeof field === 'string' ? STANDARD[field](recipient) : recipient.customFields?.[String(field.customId)];
  return value !== null && value !== undefined && value !== '';
}

const isSame = (a: NonNullable<Field>, b: Field): boolean =>
  typeof a === 'string' ? a === b : b !== null && typeof b !== 'string' && a.customId === b.customId;

/** Returns the placeholders that are used in any of these texts. */
export function usedIn(
  texts: readonly string[],
  all: readonly PlaceholderName[],
  customFields: readonly CustomField[],
): PlaceholderName[] {
  const pieces = texts.flatMap((text) => parseText(text, customFields).pieces);
  return all.filter(({ field }) => pieces.some((piece) => 'field' in piece && isSame(field, piece.field)));
}

import type { FieldRow } from '../../contacts/fields/sql.ts';
import { type CustomField, type Field, parseText, STANDARD_FIELDS, type StandardField } from '../text/parse.ts';
import type { PreviewRow } from './sql.ts';

/** What may stand between the braces of a text. */
export type PlaceholderName = {
  readonly name: string;
  readonly custom: boolean;
  readonly type: FieldRow['type'];
  readonly description: string;
  readonly field: NonNullable<Field>;
};

/** All placeholders of an account: what every contact has, then its custom fields. */
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

/** Whether a recipient has a value there: an empty one is none. */
export function isFilled(recipient: PreviewRow, field: NonNullable<Field>): boolean {
  const value =
    typeof field === 'string' ? STANDARD[field](recipient) : recipient.customFields?.[String(field.customId)];
  return value !== null && value !== undefined && value !== '';
}

const isSame = (a: NonNullable<Field>, b: Field): boolean =>
  typeof a === 'string' ? a === b : b !== null && typeof b !== 'string' && a.customId === b.customId;

/** Those of the placeholders that any of these texts uses. */
export function usedIn(
  texts: readonly string[],
  all: readonly PlaceholderName[],
  customFields: readonly CustomField[],
): PlaceholderName[] {
  const pieces = texts.flatMap((text) => parseText(text, customFields).pieces);
  return all.filter(({ field }) => pieces.some((piece) => 'field' in piece && isSame(field, piece.field)));
}

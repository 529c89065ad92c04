import type { FieldRow } from '../../contacts/fields/sql.ts';

/** What every contact has for placeholders (contract 3). */
export const STANDARD_FIELDS = ['fullName', 'firstName', 'lastName', 'name', 'gender', 'phoneNumber', 'email'] as const;
export type StandardField = (typeof STANDARD_FIELDS)[number];

/** A field of a contact: one that all have, a custom one by its id, or none that is known. */
export type Field = StandardField | { readonly customId: number } | null;

/** A stretch of text as it stands, or what one recipient has in a field; `fallback` where that is nothing. */
export type Piece = { readonly text: string } | { readonly field: Field; readonly fallback: string };

export type CustomField = Pick<FieldRow, 'id' | 'name'>;

/** `{{field}}` or `{{field|default}}`; a default may hold anything but `}}`; blanks around either are left out. */
const PLACEHOLDER = /\{\{([^{}|]*)(?:\|((?:(?!\}\}).)*))?\}\}/gs;

/**
 * A text cut at its placeholders. Names are taken in any case, as everywhere with contacts. `unknown` names the fields
 * that no contact has, each once; where such a text is used all the same, they read as their default. Braces that are no
 * placeholder stay as they are. Values are never read for placeholders again: they are data.
 */
export function parseText(
  text: string,
  customFields: readonly CustomField[],
): { readonly pieces: readonly Piece[]; readonly unknown: readonly string[] } {
  const fields = fieldsByName(customFields);
  const pieces: Piece[] = [];
  const unknown = new Set<string>();
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, name = '', fallback = ''] = match;
    const field = fields.get(name.trim().toLowerCase()) ?? null;
    if (field === null) unknown.add(name.trim());
    if (match.index > end) pieces.push({ text: text.slice(end, match.index) });
    pieces.push({ field, fallback: fallback.trim() });
    end = match.index + whole.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end) });
  return { pieces, unknown: [...unknown] };
}

function fieldsByName(customFields: readonly CustomField[]): Map<string, Field> {
  const standard = STANDARD_FIELDS.map((field) => [field.toLowerCase(), field] as const);
  const custom = customFields.map(({ id, name }) => [name.toLowerCase(), { customId: id }] as const);
  return new Map<string, Field>([...custom, ...standard]);
}

/** The text when it is the same for everybody; null when it has placeholders. */
export const fixedText = (pieces: readonly Piece[]): string | null =>
  pieces.every((piece) => 'text' in piece) ? pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') : null;

/** The least that goes out to anybody: every field empty and without its default. */
export const leastText = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');

/** Whether anything of the contact is in it: the number alone is known without. */
export const readsContact = (pieces: readonly Piece[]): boolean =>
  pieces.some((piece) => 'field' in piece && piece.field !== null && piece.field !== 'phoneNumber');

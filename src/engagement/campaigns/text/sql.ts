import { join, type Sql, sql } from '../../../platform/db/query.ts';
import { type CustomField, type Field, parseText, type Piece, type StandardField } from './parse.ts';

/** Location of the values of a recipient in a statement. */
export type RecipientSql = {
  /** The alias of `contact`. It may be an outer join, for numbers that are not a contact. */
  readonly contact: Sql;
  /** The number in E.164 format. */
  readonly destination: Sql;
};

/**
 * Makes an SQL expression of the text for one recipient. This is the only way in which texts are filled in, so that the
 * priced, previewed and sent texts are the same. The expression is never null.
 */
export const renderSql = (pieces: readonly Piece[], on: RecipientSql): Sql =>
  pieces.length === 0
    ? sql`''::text`
    : sql`(${join(
        pieces.map((piece) => pieceSql(piece, on)),
        ' || ',
      )})`;

const pieceSql = (piece: Piece, on: RecipientSql): Sql =>
  'text' in piece
    ? sql`${piece.text}::text`
    : sql`coalesce(nullif(${fieldSql(piece.field, on)}, ''), ${piece.fallback}::text)`;

function fieldSql(field: Field, on: RecipientSql): Sql {
  if (field === null) return sql`NULL::text`;
  if (typeof field === 'string') return STANDARD[field](on);
  return sql`${on.contact}.custom_fields ->> ${String(field.customId)}::text`;
}

const STANDARD: Readonly<Record<StandardField, (on: RecipientSql) => Sql>> = {
  fullName: ({ contact }) => sql`${contact}.full_name`,
  firstName: ({ contact }) => sql`${contact}.first_name`,
  lastName: ({ contact }) => sql`${contact}.last_name`,
  name: ({ contact, destination }) => sql`coalesce(nullif(${contact}.full_name, ''), ${destination})`,
  gender: ({ contact }) => sql`${contact}.gender`,
  phoneNumber: ({ destination }) => sql`${destination}`,
  email: ({ contact }) => sql`${contact}.email`,
};

/**
 * Makes an SQL expression of the values that one recipient has for the variables of a template: a jsonb object with the
 * value of each entry under exactly that entry. An entry has the form of a placeholder without its braces: `firstName`
 * or `firstName|friend`.
 */
export const valuesSql = (entries: readonly string[], customFields: readonly CustomField[], on: RecipientSql): Sql =>
  entries.length === 0
    ? sql`'{}'::jsonb`
    : sql`jsonb_build_object(${join(
        entries.map((entry) => sql`${entry}::text, ${renderSql(parseText(`{{${entry}}}`, customFields).pieces, on)}`),
      )})`;

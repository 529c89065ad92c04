import {
  byField,
  columnOf,
  OWN_PLACEHOLDERS,
  type OwnPlaceholder,
  PLACEHOLDERS,
  type Placeholder,
} from '../contacts/contact-fields.ts';
import type { FieldRow } from '../contacts/fields.ts';
import { constant, join, type Sql, sql } from '../core/db/query.ts';
import { foldText } from '../core/fold.ts';
import { splitPlaceholders } from '../core/schema.ts';
import { isOptOut, OPT_OUT_PLACEHOLDER, withOptOut } from '../messages/opt-out-links.ts';
import { MAX_PARTS } from '../messages/prepare.ts';
import { smartText } from '../messages/smart-encoding.ts';
import { countParts } from '../smpp/text.ts';

/** A field of a contact: a standard field, a custom field by its id, or null if no such field is known. */
export type Field = Placeholder | { readonly customId: number } | null;

/** A piece of fixed text, or the value of a field for each recipient; `fallback` if that value is empty. */
export type Piece = { readonly text: string } | { readonly field: Field; readonly fallback: string };

export type CustomField = Pick<FieldRow, 'id' | 'name'>;

/**
 * Splits a text at its placeholders, `{{field}}` and `{{field|default}}`. A default may contain anything but `}}`;
 * blanks around both are ignored. Names are case-insensitive, as everywhere with contacts. `unknown` has the names of
 * fields that do not exist, each once; if such a text is used anyway, they are replaced by their default. Braces that
 * are not a placeholder stay as they are, as does `{{optout}}` until the recipient is known. Values are data: they are
 * not searched for placeholders again.
 */
export function parseText(
  text: string,
  customFields: readonly CustomField[],
): { readonly pieces: readonly Piece[]; readonly unknown: readonly string[] } {
  const fields = fieldsByName(customFields);
  const pieces: Piece[] = [];
  const unknown = new Set<string>();
  for (const part of splitPlaceholders(text, { defaults: true })) {
    if (typeof part === 'string') {
      pieces.push({ text: part });
      continue;
    }
    if (isOptOut(part.name)) {
      pieces.push({ text: OPT_OUT_PLACEHOLDER });
      continue;
    }
    const field = fields.get(foldText(part.name)) ?? null;
    if (field === null) unknown.add(part.name);
    pieces.push({ field, fallback: part.fallback });
  }
  return { pieces, unknown: [...unknown] };
}

function fieldsByName(customFields: readonly CustomField[]): Map<string, Field> {
  const standard = PLACEHOLDERS.map((field) => [foldText(field), field] as const);
  const custom = customFields.map(({ id, name }) => [foldText(name), { customId: id }] as const);
  return new Map<string, Field>([...custom, ...standard]);
}

/** Returns the text if it is the same for all recipients; null if it has placeholders. */
export const fixedText = (pieces: readonly Piece[]): string | null =>
  pieces.every((piece) => 'text' in piece) ? pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') : null;

/** Returns the shortest text that any recipient can get: every field is empty and has no default. */
export const leastText = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');

/** Replaces the placeholder of the opt-out link: by one of the same length as that of each recipient, or by a mark of it. */
export const withLink = (pieces: readonly Piece[], link: string): readonly Piece[] =>
  pieces.map((piece) => ('text' in piece ? { text: withOptOut(piece.text, link) } : piece));

/** Location of the values of a recipient in a statement. */
type RecipientSql = {
  /** The alias of `contact`. It may be an outer join, for numbers that are not a contact. */
  readonly contact: Sql;
  /** The number in E.164 format. */
  readonly destination: Sql;
};

/** The least characters that need more than `MAX_PARTS` parts in any alphabet: a part has up to 153. */
const TOO_LONG = MAX_PARTS * 153 + 1;
/** The end of a text that was cut. No encoding has or replaces it, so such a text needs far more than `MAX_PARTS`. */
const CUT = '⋯';

/**
 * Makes an SQL expression of the text for one recipient. This is the only way in which texts are filled in, so that the
 * priced, previewed and sent texts are the same. The expression is never null. Texts that are too long in any case are
 * cut, and are still too long then: thousands of long values would take minutes. Replacements can only shorten the
 * author's words and what is counted of the values, so a text may have all its words and `TOO_LONG` characters more.
 */
export function renderSql(pieces: readonly Piece[], on: RecipientSql): Sql {
  if (pieces.every((piece) => 'text' in piece)) return joinSql(pieces, on);
  const most = leastText(pieces).length + TOO_LONG;
  const cut = constant(most);
  return sql`(SELECT CASE WHEN length(t) < ${cut} THEN t ELSE t || ${CUT}::text END
              FROM (SELECT ${filledSql(pieces, on, most)} OFFSET 0) AS filled (t))`;
}

/** Number of pieces that are joined before the text is cut. */
const PIECES_AT_ONCE = 8;

/** Makes an SQL expression of the first characters of a text. It never makes much more of the text than these. */
function filledSql(pieces: readonly Piece[], on: RecipientSql, most: number): Sql {
  let filled = joinSql(pieces.slice(0, PIECES_AT_ONCE), on);
  for (let n = PIECES_AT_ONCE; n < pieces.length; n += PIECES_AT_ONCE)
    filled = sql`left(${filled}, ${constant(most)}) || ${joinSql(pieces.slice(n, n + PIECES_AT_ONCE), on)}`;
  return sql`left(${filled}, ${constant(most)})`;
}

const joinSql = (pieces: readonly Piece[], on: RecipientSql): Sql =>
  pieces.length === 0
    ? sql`''::text`
    : sql`(${join(
        pieces.map((piece) => pieceSql(piece, on)),
        ' || ',
      )})`;

const ONE_PART = 160;

/**
 * Makes an SQL expression of the number of parts of the text for one recipient; 0 for an empty text, and more than
 * `MAX_PARTS` for any text that is too long.
 */
export function partsSql(pieces: readonly Piece[], on: RecipientSql): Sql {
  const fixed = fixedText(pieces);
  if (fixed !== null) return constant(fixed === '' ? 0 : countParts(fixed).parts);
  const counted = sql`coalesce(sms_parts(nullif(${filledSql(pieces, on, TOO_LONG)}, '')), 0)`;
  const { alphabet, units } = countParts(leastText(pieces));
  if (alphabet !== 'gsm7' || units === 0) return counted;
  // Nearly all recipients fill a short text with plain letters: checking only these takes a third of the time.
  const filled = filledSql(
    pieces.filter((piece) => 'field' in piece),
    on,
    TOO_LONG,
  );
  return sql`CASE WHEN ${filled} ~ '^[ -Z_a-z]*$' AND length(${filled}) <= ${constant(ONE_PART - units)} THEN 1
                  ELSE ${counted} END`;
}

/**
 * Returns pieces that need at least as many parts as the text that `smart` sends: a recipient's own values can prevent
 * all replacements, and then what they make shorter is longer again.
 */
export function withReplacements(pieces: readonly Piece[]): readonly Piece[] {
  const fixed = fixedText(pieces);
  if (fixed !== null) return [{ text: smartText(fixed).text }];
  const changed = pieces.map((piece) => ('text' in piece ? { text: smartText(piece.text).text } : piece));
  return leastText(changed).length < leastText(pieces).length ? pieces : changed;
}

const pieceSql = (piece: Piece, on: RecipientSql): Sql =>
  'text' in piece
    ? sql`${piece.text}::text`
    : sql`coalesce(nullif(${fieldSql(piece.field, on)}, ''), ${piece.fallback}::text)`;

function fieldSql(field: Field, on: RecipientSql): Sql {
  if (field === null) return sql`NULL::text`;
  if (typeof field === 'string') return STANDARD[field](on);
  return sql`${on.contact}.custom_fields ->> ${String(field.customId)}::text`;
}

type FieldSql<F extends Placeholder> = Readonly<Record<F, (on: RecipientSql) => Sql>>;
const STANDARD: FieldSql<Placeholder> = {
  ...byField<FieldSql<OwnPlaceholder>>(
    OWN_PLACEHOLDERS,
    (name) =>
      ({ contact }) =>
        sql`${contact}.${columnOf(name)}`,
  ),
  fullName: ({ contact }) => sql`${contact}.full_name`,
  name: ({ contact, destination }) => sql`coalesce(nullif(${contact}.full_name, ''), ${destination})`,
  phoneNumber: ({ destination }) => sql`${destination}`,
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
        entries.map((entry) => sql`${entry}::text, ${joinSql(parseText(`{{${entry}}}`, customFields).pieces, on)}`),
      )})`;

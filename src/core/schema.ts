import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { CHANNELS, PURPOSES } from './channels.ts';

/** Makes the schema of a value that may be null. */
export const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** The schema of an instant as ISO 8601 text. */
export const instant = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });

/** The schema of a numeric id in a path, a query or a body. */
export const id = (description?: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...(description !== undefined && { description }) });

/** The schema of a channel: SMS, RCS or WHATSAPP. */
export const channelName = (description?: string) =>
  Type.Enum([...CHANNELS], { type: 'string', ...(description !== undefined && { description }) });

/** The schema of a purpose: marketing, transactional, otp or service. */
export const purposeSchema = (description: string) => Type.Enum([...PURPOSES], { type: 'string', description });

/**
 * Returns a valid value without the fields that its schema does not have, at any depth. For values stored as JSON: all
 * others are stored field by field, so that an unknown field gets nowhere.
 */
export const knownFieldsOf = <T extends Type.TSchema>(schema: T, value: Type.Static<T>): Type.Static<T> =>
  Value.Clean(schema, structuredClone(value)) as Type.Static<T>;

/** Returns true if a value of unknown type is an object with named members; arrays count too. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/**
 * Removes all of one character from the end of a text. The expression `/\/+$/` does the same in quadratic time: it
 * tries every slash of a run that is not at the end.
 */
export function trimCharacterEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** Removes all of one character from both ends of a text. */
export function trimCharacter(text: string, character: string): string {
  let start = 0;
  while (text[start] === character) start++;
  return trimCharacterEnd(text.slice(start), character);
}

/**
 * Yields every value of a JSON document, the document itself first. It uses a list instead of recursion: a body may be
 * nested half a million levels deep, which would overflow the stack.
 */
export function* valuesIn(document: unknown): Generator<unknown> {
  const waiting = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    yield value;
    if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) waiting.push(child);
  }
}

type Placeholder = {
  /** The placeholder as it is written in the text, with its braces. */
  readonly whole: string;
  /** The name without surrounding blanks; it may be empty. */
  readonly name: string;
  /** The text after the `|`, without surrounding blanks; empty without a `|`. */
  readonly fallback: string;
};

/** A piece of fixed text, or a placeholder. */
export type TextPart = string | Placeholder;

/** The longest name that `fillPlaceholders` and `placeholderNames` accept. */
export const MAX_PLACEHOLDER_NAME_LENGTH = 64;

/**
 * Splits a text at its placeholders: `{{name}}` and, with `defaults`, also `{{name|default}}`. A name contains neither
 * braces nor a `|`; a default contains anything but `}}`. All other braces are text. The parts, joined in their order
 * as they are written, are the text. The time is proportional to the length of the text, whatever it contains.
 */
export function splitPlaceholders(text: string, { defaults }: { readonly defaults: boolean }): TextPart[] {
  const parts: TextPart[] = [];
  let textStart = 0;
  let open = text.indexOf('{{');
  while (open >= 0) {
    const nameEnd = endOfName(text, open + 2);
    const end = endOfPlaceholder(text, nameEnd, defaults);
    // Without a `}}` after this place, there is none after any later one.
    if (end === 'nowhere') break;
    if (end !== null) {
      if (open > textStart) parts.push(text.slice(textStart, open));
      parts.push(placeholderAt(text, { open, nameEnd, end }));
      textStart = end;
    }
    // The second brace of `{{{` may open a placeholder. A name has no brace that could.
    open = text.indexOf('{{', end ?? Math.max(open + 1, nameEnd - 1));
  }
  if (textStart < text.length) parts.push(text.slice(textStart));
  return parts;
}

/** Returns the position of the first character that is not part of a name. */
function endOfName(text: string, from: number): number {
  let at = from;
  while (at < text.length && !'{}|'.includes(text.charAt(at))) at++;
  return at;
}

/**
 * Returns the position after a placeholder whose name ends here. Null: it is not a placeholder; `nowhere`: no later one
 * is either, since no closing braces follow.
 */
function endOfPlaceholder(text: string, nameEnd: number, defaults: boolean): number | null | 'nowhere' {
  if (text.startsWith('}}', nameEnd)) return nameEnd + 2;
  if (!defaults || text[nameEnd] !== '|') return null;
  const close = text.indexOf('}}', nameEnd + 1);
  return close < 0 ? 'nowhere' : close + 2;
}

type Place = { readonly open: number; readonly nameEnd: number; readonly end: number };

const placeholderAt = (text: string, { open, nameEnd, end }: Place): Placeholder => ({
  whole: text.slice(open, end),
  name: text.slice(open + 2, nameEnd).trim(),
  fallback: text.slice(nameEnd + 1, end - 2).trim(),
});

const isNamed = ({ name }: Placeholder): boolean => name !== '' && name.length <= MAX_PLACEHOLDER_NAME_LENGTH;

/** Lists the names of the placeholders `{{name}}` in a text, each once, in their order. */
export function placeholderNames(text: string): string[] {
  const names = new Set<string>();
  for (const part of splitPlaceholders(text, { defaults: false }))
    if (typeof part !== 'string' && isNamed(part)) names.add(part.name);
  return [...names];
}

/**
 * Replaces the placeholders `{{name}}` of a text by their values. One without a value stays as it is written. Values
 * are data: braces in them are not replaced again.
 */
export function fillPlaceholders(text: string, valueOf: (name: string) => string | undefined): string {
  const fill = (part: Placeholder): string => (isNamed(part) ? valueOf(part.name) : undefined) ?? part.whole;
  return splitPlaceholders(text, { defaults: false })
    .map((part) => (typeof part === 'string' ? part : fill(part)))
    .join('');
}

export const displayName = Type.String({ description: 'What colleagues call the user; empty if nothing was given.' });

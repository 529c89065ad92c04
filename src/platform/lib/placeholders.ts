/** A placeholder in a text. */
export type Placeholder = {
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

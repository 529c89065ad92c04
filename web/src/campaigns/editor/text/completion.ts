/** A placeholder that is being typed: the positions of its opening braces and of the caret, and the name so far. */
export type OpenPlaceholder = { readonly from: number; readonly to: number; readonly name: string };

const OPEN = /\{\{([^{}|\n]*)$/;
const MAX_NAME_LENGTH = 64;

/** The placeholder being typed at the caret; null if there is none. */
export function openPlaceholderAt(text: string, caret: number): OpenPlaceholder | null {
  const found = OPEN.exec(text.slice(Math.max(0, caret - MAX_NAME_LENGTH), caret));
  if (found === null) return null;
  const [whole, name = ''] = found;
  return { from: caret - whole.length, to: caret, name: name.trim() };
}

const CLOSING = /^[^{}|\n]*\}\}/;

/**
 * The text with the placeholder completed, and the new caret position. Braces that already close it are not doubled.
 */
export function completePlaceholder(
  text: string,
  { from, to }: OpenPlaceholder,
  name: string,
): { text: string; caret: number } {
  const rest = text.slice(to);
  const placeholder = `{{${name}}}`;
  return {
    text: text.slice(0, from) + placeholder + rest.replace(CLOSING, ''),
    caret: from + placeholder.length,
  };
}

/** The placeholder for a field: `{{name}}`, or `{{name|default}}` with a default for contacts without a value. */
export const placeholderOf = (name: string, fallback: string): string =>
  fallback.trim() === '' ? `{{${name}}}` : `{{${name}|${fallback.trim().replaceAll('}}', '')}}}`;

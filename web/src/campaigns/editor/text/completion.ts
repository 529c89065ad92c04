/** A placeholder that is being typed: where its braces open, where the caret is, and the name so far. */
export type Typed = { readonly from: number; readonly to: number; readonly name: string };

const OPEN = /\{\{([^{}|\n]*)$/;
const LONGEST_NAME = 64;

/** The placeholder that is open at the caret; null when there is none. */
export function typedAt(text: string, caret: number): Typed | null {
  const found = OPEN.exec(text.slice(Math.max(0, caret - LONGEST_NAME), caret));
  if (found === null) return null;
  const [whole, name = ''] = found;
  return { from: caret - whole.length, to: caret, name: name.trim() };
}

const CLOSING = /^[^{}|\n]*\}\}/;

/** The text with the placeholder filled in, and where the caret goes then. What closed it before is not closed twice. */
export function applied(text: string, { from, to }: Typed, name: string): { text: string; caret: number } {
  const rest = text.slice(to);
  const placeholder = `{{${name}}}`;
  return {
    text: text.slice(0, from) + placeholder + rest.replace(CLOSING, ''),
    caret: from + placeholder.length,
  };
}

/** As it is written: `{{name}}`, or with what stands there for contacts who have none. */
export const placeholderOf = (name: string, fallback: string): string =>
  fallback.trim() === '' ? `{{${name}}}` : `{{${name}|${fallback.trim().replaceAll('}}', '')}}}`;

/** A template's placeholder, with the blanks around its name. Its time is linear: a name cannot contain braces. */
const PLACEHOLDER = /\{\{([^{}|]+)\}\}/g;

/** Lists the placeholders of a template's text, `{{name}}`, in their order. */
export const placeholderNames = (text: string): string[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name.trim()).filter((name) => name !== '');

/** Fills the placeholders of a template's text in; one without a value stays as it is written. */
export const fillPlaceholders = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.replaceAll(PLACEHOLDER, (whole, name: string) => valueOf(name.trim()) || whole);

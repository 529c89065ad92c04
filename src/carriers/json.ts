/** Reading JSON that came from outside: any shape may come, and none of these throws. */

/** A member of an object, or undefined. */
export function memberOf(json: unknown, name: string): unknown {
  return isObject(json) && Object.hasOwn(json, name) ? json[name] : undefined;
}

const isObject = (json: unknown): json is Readonly<Record<string, unknown>> =>
  typeof json === 'object' && json !== null;

/** A text as it can be stored: without NUL and lone surrogates. Empty for what is no text. */
const wordsOf = (json: unknown): string => (typeof json === 'string' ? json.replaceAll('\0', '').toWellFormed() : '');

/** The same of a member. */
export const wordsIn = (json: unknown, name: string): string => wordsOf(memberOf(json, name));

/** A member that is a list; empty for anything else. */
export function listIn(json: unknown, name: string): readonly unknown[] {
  const list = memberOf(json, name);
  return Array.isArray(list) ? list : [];
}

/** What the octets say, or undefined when they are no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

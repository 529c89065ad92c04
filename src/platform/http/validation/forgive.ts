import type { ErrorObject } from 'ajv';
import { isRecord } from '../../lib/is-record.ts';

/**
 * Corrects the case of words in a document that a schema rejected: `text` becomes `TEXT` where the schema has a list of
 * words with that one, and `sms,rcs` becomes `SMS,RCS` where its pattern accepts that. Returns true if it changed
 * anything.
 */
export function forgiveCase(document: unknown, faults: readonly ErrorObject[]): boolean {
  let changed = false;
  for (const fault of faults) changed = correct(document, pathOf(fault.instancePath), fault) || changed;
  return changed;
}

/** The members on the way to a value, from a JSON Pointer (RFC 6901). */
export const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

function correct(document: unknown, path: readonly string[], fault: ErrorObject): boolean {
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), document);
  if (last === undefined || !isRecord(parent) || !Object.hasOwn(parent, last)) return false;
  const given = parent[last];
  if (typeof given !== 'string') return false;
  const word = fault.keyword === 'pattern' ? capitals(given, fault.params['pattern']) : wordOf(fault, given);
  if (word === undefined || word === given) return false;
  parent[last] = word;
  return true;
}

function wordOf({ keyword, params }: ErrorObject, given: string): string | undefined {
  const allowed: unknown[] =
    keyword === 'enum' ? [params['allowedValues']].flat() : keyword === 'const' ? [params['allowedValue']] : [];
  return allowed.filter((each) => typeof each === 'string').find((each) => each.toLowerCase() === given.toLowerCase());
}

/** Returns the words in capitals, if the pattern accepts them: a pattern for words with commas between them. */
function capitals(given: string, pattern: unknown): string | undefined {
  const words = given.toUpperCase();
  return /^[A-Z_,]{1,200}$/.test(words) && new RegExp(String(pattern), 'u').test(words) ? words : undefined;
}

/**
 * Removes the members of objects that are null in a document that a schema rejected for it, and the members with the
 * same names in all other entries of the same list: many clients write null for unset values. A missing required member
 * fails the next check. Returns true if it changed anything.
 */
export function forgiveNull(document: unknown, faults: readonly ErrorObject[]): boolean {
  let changed = false;
  for (const { data, instancePath } of faults)
    if (data === null) changed = removeNull(document, pathOf(instancePath)) || changed;
  return changed;
}

function removeNull(at: unknown, [key = '', ...rest]: readonly string[]): boolean {
  if (Array.isArray(at)) {
    if (rest.length === 0) return false;
    let changed = false;
    for (const item of at) changed = removeNull(item, rest) || changed;
    return changed;
  }
  if (!isRecord(at) || !Object.hasOwn(at, key)) return false;
  if (rest.length > 0) return removeNull(at[key], rest);
  return at[key] === null && Reflect.deleteProperty(at, key);
}

/**
 * Removes empty parameters that a schema names from the query of a list: clients send the filters that are not set.
 * Other queries stay as they are: the signature of a link, for one, was checked before.
 */
export function dropEmptyFilters(query: unknown, { properties }: Record<string, unknown>): void {
  if (!isRecord(query) || !isRecord(properties) || !Object.hasOwn(properties, 'limit')) return;
  for (const name of Object.keys(query))
    if (query[name] === '' && Object.hasOwn(properties, name)) Reflect.deleteProperty(query, name);
}

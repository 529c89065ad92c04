// Reads JSON from outside, which may have any shape: none of these functions throws.

import { isRecord } from '../platform/lib/is-record.ts';

/** Returns an object's own member; undefined if it has none or `json` is not an object. */
export function getMember(json: unknown, name: string): unknown {
  return isRecord(json) && Object.hasOwn(json, name) ? json[name] : undefined;
}

/** A string as PostgreSQL can store it, without NULs and lone surrogates; an empty string for anything else. */
const toStorableText = (json: unknown): string =>
  typeof json === 'string' ? json.replaceAll('\0', '').toWellFormed() : '';

/**
 * Returns a string member without NULs and lone surrogates, which cannot be stored; an empty string for anything else.
 */
export const getText = (json: unknown, name: string): string => toStorableText(getMember(json, name));

/** Returns an array member; an empty array for anything else. */
export function getList(json: unknown, name: string): readonly unknown[] {
  const list = getMember(json, name);
  return Array.isArray(list) ? list : [];
}

/** Parses a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

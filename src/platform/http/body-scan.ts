/** Reason to reject a JSON text before it is parsed. */
export type JsonFault = 'too_many_values' | 'too_many_fields' | 'too_deep' | 'nul' | 'surrogate';

/** Maximum depth; the deepest body of the interface has about ten levels. */
export const MAX_DEPTH = 64;
/** Objects with more fields become hash tables, which are slow to parse and to walk. */
export const MAX_FIELDS = 1_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Scans a JSON text for content that would be expensive to parse and validate, and for escapes that stand for no
 * character that can be stored: U+0000 and unpaired surrogates. One pass takes 1 to 2 ms for 1 MiB, parsing an object
 * of the same size 30 to 100 ms. The text must be UTF-8. It is not checked to be valid JSON.
 */
export function findJsonFault(octets: Uint8Array, maxValues: number): JsonFault | null {
  const shape: Shape = { values: 1, depth: 0, fields: new Uint16Array(MAX_DEPTH + 1) };
  for (let at = 0; at < octets.length; at++) {
    if (octets[at] === QUOTE) {
      const end = skipString(octets, at + 1);
      if (typeof end !== 'number') return end;
      at = end;
    } else {
      const fault = count(shape, octets[at], maxValues);
      if (fault !== null) return fault;
    }
  }
  return null;
}

/** Counts so far: the number of values, and the number of fields of the open object of each level. */
type Shape = { values: number; depth: number; readonly fields: Uint16Array };

/** Counts a byte that is not part of a string. A list or an object has one value more than it has commas. */
function count(shape: Shape, octet: number | undefined, maxValues: number): JsonFault | null {
  if (octet === COLON) return countField(shape);
  if (octet === CLOSE_BRACE || octet === CLOSE_BRACKET) shape.depth = Math.max(shape.depth - 1, 0);
  const isOpening = octet === OPEN_BRACE || octet === OPEN_BRACKET;
  if (!isOpening && octet !== COMMA) return null;
  if (++shape.values > maxValues) return 'too_many_values';
  if (!isOpening) return null;
  if (++shape.depth > MAX_DEPTH) return 'too_deep';
  shape.fields[shape.depth] = 0;
  return null;
}

function countField({ fields, depth }: Shape): JsonFault | null {
  const fieldsHere = (fields[depth] ?? 0) + 1;
  fields[depth] = fieldsHere;
  return fieldsHere > MAX_FIELDS ? 'too_many_fields' : null;
}

/** Returns the position of the quote that ends a string, or the error in an escape in it. */
function skipString(octets: Uint8Array, from: number): number | JsonFault {
  let at = from;
  while (at < octets.length && octets[at] !== QUOTE) {
    if (octets[at] !== BACKSLASH) at++;
    else {
      const unit = escapedUnit(octets, at);
      if (unit === 0) return 'nul';
      const isPair = isBetween(unit, 0xd800, 0xdbff) && isBetween(escapedUnit(octets, at + 6), 0xdc00, 0xdfff);
      if (isBetween(unit, 0xd800, 0xdfff) && !isPair) return 'surrogate';
      at += isPair ? 12 : 2;
    }
  }
  return at;
}

const isBetween = (unit: number, first: number, last: number): boolean => unit >= first && unit <= last;

/** The code unit of the escape `\uXXXX` at this place; -1 if there is none. */
function escapedUnit(octets: Uint8Array, at: number): number {
  if (octets[at] !== BACKSLASH || octets[at + 1] !== SMALL_U) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = unit * 16 + hexDigit(octets[i] ?? 0);
  return unit;
}

/** The value of a hexadecimal digit. Anything else makes the code unit useless, and the text invalid JSON. */
const hexDigit = (octet: number): number => (octet < 0x3a ? octet - 0x30 : (octet | 0x20) - 0x57);

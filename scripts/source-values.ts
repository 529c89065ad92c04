// Reads numbers out of the sources, for pages that state them: most constants are private to their file.
import { readFileSync } from 'node:fs';

const ROOT = new URL('../', import.meta.url);
const KNOWN: Readonly<Record<string, number>> = {
  SECOND_MS: 1000,
  MINUTE_MS: 60_000,
  HOUR_MS: 3_600_000,
  DAY_MS: 86_400_000,
};

/**
 * Returns the number that a source file has at a place: the constant or the field of this name, or what the only group of a
 * pattern matches. Throws, naming both, when there is none, when the pattern matches twice, or when it is no number, a product
 * or a shift.
 */
export function valueAt(file: string, place: string | RegExp): number {
  return valueIn(readFileSync(new URL(file, ROOT), 'utf8'), place, file);
}

/** `valueAt` for a text that has been read. */
export function valueIn(source: string, place: string | RegExp, file: string): number {
  const pattern = typeof place === 'string' ? nameOf(place) : place;
  const found = [...source.matchAll(new RegExp(pattern, 'gm'))].map(([, text]) => text ?? '');
  const [text] = found;
  if (text === undefined || found.length > 1)
    throw new Error(`${file}: ${String(place)} is there ${found.length} times: correct the table that names it`);
  return evaluate(text, (name) => KNOWN[name] ?? valueIn(source, name, file));
}

/** A constant, or a field of an object on a line of its own. */
const nameOf = (name: string): string => `^(?:export )?(?:const ${name} =|  ${name}:) ([^;,\\n]+)[;,]`;

/** Evaluates a number, a product or a shift. */
function evaluate(text: string, byName: (name: string) => number): number {
  if (text.includes(' << ')) return apply(text, ' << ', byName, (a, b) => a * 2 ** b);
  return apply(text, ' * ', byName, (a, b) => a * b);
}

const apply = (
  text: string,
  operator: string,
  byName: (name: string) => number,
  work: (a: number, b: number) => number,
): number =>
  text
    .split(operator)
    .map((part) => atom(part.trim(), byName))
    .reduce(work);

function atom(text: string, byName: (name: string) => number): number {
  if (/^\d[\d_]*(?:\.\d+)?$/.test(text)) return Number(text.replaceAll('_', ''));
  if (/^[A-Z][A-Z\d_]*$/.test(text)) return byName(text);
  throw new Error(`"${text}" is no number`);
}

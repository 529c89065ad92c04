import type { Purpose } from '../core/channels.ts';
import { countParts, nonGsmCharacters } from '../smpp/text.ts';

/**
 * Encodings of SMS: `auto` sends a text in GSM 03.38 if it can and else in UCS-2; `smart` replaces characters first;
 * `strict` rejects what GSM 03.38 lacks.
 */
export const ENCODINGS = ['auto', 'smart', 'strict'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Characters that GSM 03.38 lacks, and what people read as the same: marks, spaces and signs of the Unicode blocks
 * General Punctuation, Spacing Modifier Letters, Letterlike Symbols, Number Forms, and Halfwidth and Fullwidth Forms
 * (unicode.org/charts). No letter is replaced by another one: an accent can change a word.
 */
const SAME: readonly (readonly [to: string, from: string])[] = [
  ["'", '‘’‚‛′‵ʹʻʼʽˈ`´‹›❛❜＇'],
  ['"', '“”„‟«»″‶ʺ˝❝❞〝〞〟＂'],
  ['-', '‐‑‒–—―⁃−﹘﹣－➖'],
  [' ', '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t'],
  ['\n', '\u0085\u2028\u2029\u000b'],
  [
    '',
    '\u00ad\u034f\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff',
  ],
  ['...', '…'],
  ['..', '‥'],
  ['*', '•‣⁎∗●▪'],
  ['/', '⁄∕／'],
  [':', '∶꞉：'],
  [',', '‚，'],
  [';', '；'],
  ['.', '․．'],
  ['!', '！'],
  ['?', '？'],
  ['(', '（'],
  [')', '）'],
  ['+', '＋'],
  ['=', '＝'],
  ['%', '％'],
  ['&', '＆'],
  ['#', '＃'],
  ['@', '＠'],
  ['~', '～∼˜'],
  ['|', '¦｜'],
  ['!!', '‼'],
  ['??', '⁇'],
  ['?!', '⁈'],
  ['!?', '⁉'],
  ['(c)', '©'],
  ['(R)', '®'],
  ['TM', '™'],
  ['No.', '№'],
  ['1/2', '½'],
  ['1/4', '¼'],
  ['3/4', '¾'],
  ['x', '×'],
];

const REPLACEMENTS: ReadonlyMap<string, string> = new Map(
  SAME.flatMap(([to, from]) => Array.from(from, (character) => [character, to] as const)),
);

/** A character that was replaced, by what, and how often. */
export type Replaced = { readonly from: string; readonly to: string; readonly count: number };

const NOTHING: readonly Replaced[] = [];

/**
 * Replaces characters so that a text fits into GSM 03.38. It stays as it is if it would not fit even so, or would need
 * more parts: nothing is changed without a gain.
 */
export function smartText(text: string): { readonly text: string; readonly replaced: readonly Replaced[] } {
  const before = countParts(text);
  if (before.alphabet === 'gsm7') return { text, replaced: NOTHING };
  const counts = new Map<string, number>();
  const changed = Array.from(text, (character) => {
    const to = REPLACEMENTS.get(character);
    if (to !== undefined) counts.set(character, (counts.get(character) ?? 0) + 1);
    return to ?? character;
  }).join('');
  const after = countParts(changed);
  if (after.alphabet !== 'gsm7' || after.parts > before.parts || changed === '') return { text, replaced: NOTHING };
  const replaced = [...counts].map(([from, count]) => ({ from, to: REPLACEMENTS.get(from) ?? '', count }));
  return { text: changed, replaced };
}

/** Returns true if a text may be changed: India's operators compare texts with templates, and codes are never touched. */
export const maySmart = (destination: string, purpose: Purpose | null): boolean =>
  purpose !== 'otp' && !destination.startsWith('+91');

/** Describes the first character of a text that GSM 03.38 lacks. */
export function strictFault(text: string): string | null {
  const [first] = nonGsmCharacters(text);
  if (first === undefined) return null;
  const code = first.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `the text has a character outside GSM 03.38: ${first} (U+${code}) at position ${Array.from(text).indexOf(first) + 1}`;
}

import type { NameOrder } from './options.ts';

/** The parts of a whole name. `full` is set if it contains more than its parts; otherwise it is composed of them. */
export type SplitName = { readonly firstName: string; readonly lastName: string | null; readonly full: string | null };

const TITLE =
  /^(?:dr|dra|dott|dottssa|prof|profssa|ing|avv|arch|geom|rag|sig|sigra|signora|signor|mr|mrs|ms|miss|sir|herr|frau|hr|fr|m|mme|mlle|sr|sra|srta|don|dhr|mevr|pan|pani)$/i;

const isTitle = (word: string): boolean =>
  TITLE.test(word.replaceAll('.', '')) && (word.endsWith('.') || word.length > 2);

/**
 * Splits a whole name: the first word is the first name and the rest the last name, or with `lastFirst` the last word
 * is the first name. `Rossi, Maria` is read as written, whatever the order. Titles are not names, and stay in `full`.
 */
export function splitName(text: string, order: Exclude<NameOrder, 'keep'>): SplitName {
  const whole = text.trim().replaceAll(/\s+/g, ' ');
  const comma = /^([^,]+), ?([^,]+)$/.exec(whole);
  if (comma?.[1] && comma[2]) return partsOf(whole, [comma[2], comma[1]]);
  const words = whole.split(' ');
  const begin = words.findIndex((word) => !isTitle(word));
  const names = begin < 0 ? words : words.slice(begin);
  const parts =
    order === 'firstLast'
      ? [names[0] ?? '', names.slice(1).join(' ')]
      : [names.at(-1) ?? '', names.slice(0, -1).join(' ')];
  const split = partsOf(whole, parts);
  return begin > 0 ? { ...split, full: whole } : split;
}

function partsOf(whole: string, [first = '', last = '']: readonly string[]): SplitName {
  const fits = first.length <= MAX_PART_LENGTH && last.length <= MAX_PART_LENGTH;
  return {
    firstName: first.slice(0, MAX_PART_LENGTH).trim(),
    lastName: last.slice(0, MAX_PART_LENGTH).trim() || null,
    full: fits ? null : whole,
  };
}

const MAX_PART_LENGTH = 100;

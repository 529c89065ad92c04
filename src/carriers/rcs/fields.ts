import { wordsIn } from '../json.ts';

/** Characters of an id that can be one of ours or the network's; a longer one matches nothing and fits no index. */
export const LONGEST_ID = 200;
const LONGEST_NUMBER = 20;

/** The digits of a number as the network writes it; empty for what is none. */
export function digitsOf(number: string): string {
  const digits = number.replace(/^\+/, '');
  return digits.length <= LONGEST_NUMBER && /^\d+$/.test(digits) ? digits : '';
}

/** An instant in RFC 3339, with any number of decimals; null for what is none or far from our time. */
export function instantIn(event: unknown, name: string): Date | null {
  const text = wordsIn(event, name);
  if (!/^20\d\d-\d\d-\d\dT/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms);
}

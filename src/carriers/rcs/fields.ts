import { getText } from '../json.ts';

/** Maximum characters of a message id; a longer one matches nothing and would not fit an index. */
export const MAX_ID_LENGTH = 200;
const MAX_PHONE_DIGITS = 20;

/** Returns the digits of a phone number, without the plus sign; an empty string if it is not a number. */
export function phoneDigits(number: string): string {
  const digits = number.replace(/^\+/, '');
  return digits.length <= MAX_PHONE_DIGITS && /^\d+$/.test(digits) ? digits : '';
}

/** Reads a member with an RFC 3339 instant of this century, with any number of decimals; null for anything else. */
export function readInstant(event: unknown, name: string): Date | null {
  const text = getText(event, name);
  if (!/^20\d\d-\d\d-\d\dT/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms);
}

import {
  type CountryCode,
  isSupportedCountry,
  type NumberType,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';

/** What the numbering plans know of a number. */
export type PhoneDetails = {
  /** With the plus. */
  readonly e164: string;
  /** Whether it is in the numbering plan of its country. Plans change, so a number that is not may yet exist. */
  readonly isValid: boolean;
  /** Null when the plan does not tell. */
  readonly type: Exclude<NumberType, undefined> | null;
  /** ISO 3166-1 alpha-2; null for satellite phones and other numbers of no country. */
  readonly country: string | null;
};

/** No form of a number is longer; libphonenumber itself reads up to 250 characters. */
const LONGEST = 50;
/** A number in international form may hold any punctuation. One without sign or 00 counts as international too. */
const INTERNATIONAL = /^\s*(?:\+|00)/;

/**
 * Reads a number in any usual form: `+39 333 123 4567`, `0039…`, `393331234567`, and with a default country the national
 * form, `333 1234567`. Null when it can be no number at all: letters, too short or too long for its country.
 * About 10 µs; for the check of the form alone there is `toE164`.
 */
export function readPhone(text: string, defaultCountry: string | null): PhoneDetails | null {
  if (text.length > LONGEST) return null;
  const country = defaultCountry !== null && isSupportedCountry(defaultCountry) ? defaultCountry : null;
  if (INTERNATIONAL.test(text)) return parse(text.replace(/^\s*(?:\+|00)\s*/, '+'), country);
  return (country && parse(text, country)) ?? parse(`+${text.trim()}`, null);
}

function parse(text: string, defaultCountry: CountryCode | null): PhoneDetails | null {
  const number = parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) });
  if (!number?.isPossible() || number.ext !== undefined) return null;
  return {
    e164: number.number,
    isValid: number.isValid(),
    type: number.getType() ?? null,
    country: number.country ?? null,
  };
}

/** Whether this is a country whose national numbers can be read: ISO 3166-1 alpha-2 in capitals. */
export const isPhoneCountry = (country: string): boolean => isSupportedCountry(country);

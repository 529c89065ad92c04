import { isSupportedCountry, type PhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { isPlainInternational } from './numbering-plans.ts';
import type { NumberFault, NumberRules } from './number-rules.ts';
import { callingCodeOf } from './phone.ts';

/** A number that was read: in E.164 with its plus, or its error. */
export type ReadNumber =
  | {
      readonly e164: string;
      /** Result of libphonenumber, if it had to be asked. */
      readonly parsed?: PhoneNumber;
    }
  | { readonly fault: NumberFault };

/** No notation of a number is longer; libphonenumber itself accepts up to 250 characters. */
const MAX_LENGTH = 50;
/** A number in international form, without any punctuation. */
const PLAIN = /^(?:\+|00)([1-9]\d{6,14})$/;
/** A number in international form, with the usual characters between its digits. */
const USUAL = /^(?:\+|00)[\d ().-]*\d$/;
const USUAL_PUNCTUATION = /[ ().-]+/g;
/** Characters that are common between the digits of a number. */
const PUNCTUATION = /[\s().\-/]/g;
/** The digits that E.164 allows after the plus. */
const IN_E164 = /^[1-9]\d{6,14}$/;
/** The start of a number in international form, which may contain any punctuation. */
const INTERNATIONAL = /^\s*(?:\+|00)/;

/**
 * Reads a phone number that a client wrote: the only way in which sends, contacts, imports and campaigns read one. With
 * `+` or `00` it is international. Without, it is a national number of the default country, or begins with the code of
 * that country; if it is not a number there, but would be one with `+`, it is rejected rather than sent to another
 * country. Spaces, dots, hyphens, parentheses and the trunk prefix (`+44 (0)20 …`) are omitted.
 *
 * A number in international form with the usual punctuation takes about 1 µs. All others are parsed by libphonenumber,
 * which takes about 10 µs.
 */
export function readNumber(text: string, rules: NumberRules): ReadNumber {
  const common = readPlain(text);
  if (common !== null) return common;
  if (text.length > MAX_LENGTH) return { fault: 'not_a_number' };
  const usual = USUAL.test(text) ? readPlain(text.replace(USUAL_PUNCTUATION, '')) : null;
  if (usual !== null) return usual;
  if (INTERNATIONAL.test(text)) return readInternational(text.replace(/^\s*(?:\+|00)\s*/, '+'), rules);
  return readNational(text, rules);
}

/** Reads a plain international number. */
function readPlain(text: string): ReadNumber | null {
  const digits = PLAIN.exec(text)?.[1];
  return digits !== undefined && isPlainInternational(digits) ? { e164: `+${digits}` } : null;
}

function readInternational(text: string, { numberChecks }: NumberRules): ReadNumber {
  const parsed = parsePhoneNumberFromString(text, { extract: false });
  if (parsed?.isPossible() && parsed.ext === undefined) return { e164: parsed.number, parsed };
  const digits = text.replace(PUNCTUATION, '').slice(1);
  if (!IN_E164.test(digits)) return { fault: 'not_a_number' };
  if (callingCodeOf(digits) === null) return { fault: 'unknown_country_code' };
  return numberChecks === 'lenient' ? { e164: `+${digits}` } : { fault: 'impossible_length' };
}

function readNational(text: string, { defaultCountry, numberChecks }: NumberRules): ReadNumber {
  if (!/^\d+$/.test(text.replace(PUNCTUATION, ''))) return { fault: 'not_a_number' };
  if (defaultCountry === null || !isSupportedCountry(defaultCountry)) return { fault: 'no_country_code' };
  const parsed = parsePhoneNumberFromString(text, { extract: false, defaultCountry });
  if (!parsed?.isValid() && isForeign(text)) return { fault: 'no_country_code' };
  if (parsed === undefined || parsed.ext !== undefined) return { fault: 'impossible_length' };
  const isAccepted = parsed.isPossible() || (numberChecks === 'lenient' && IN_E164.test(parsed.number.slice(1)));
  return isAccepted ? { e164: parsed.number, parsed } : { fault: 'impossible_length' };
}

/** Returns true if digits without a plus are a number of some country when they are read with one. */
const isForeign = (text: string): boolean =>
  parsePhoneNumberFromString(`+${text.trim()}`, { extract: false })?.isValid() === true;

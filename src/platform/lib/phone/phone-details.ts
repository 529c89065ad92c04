import {
  isSupportedCountry,
  type NumberType,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { DEFAULT_NUMBER_RULES, type NumberFault, type NumberRules } from './number-rules.ts';
import { readNumber } from './read-number.ts';

/** Details of a number according to the numbering plans. */
export type PhoneDetails = {
  /** The number in E.164, with the plus. */
  readonly e164: string;
  /**
   * True if the numbering plan of its country contains it. Plans change, so an invalid number may exist nevertheless.
   */
  readonly isValid: boolean;
  /** Null if the plan does not define it. */
  readonly type: Exclude<NumberType, undefined> | null;
  /** ISO 3166-1 alpha-2; null for satellite phones and other numbers that belong to no country. */
  readonly country: string | null;
};

/** Reads a number as `readNumber` does, and describes it; returns the error if it cannot be read. Takes about 10 µs. */
export function describeNumber(text: string, rules: NumberRules): PhoneDetails | { readonly fault: NumberFault } {
  const read = readNumber(text, rules);
  return 'fault' in read ? read : details(read.e164, read.parsed ?? parsePhoneNumberFromString(read.e164));
}

/** Describes a number as `describeNumber` does; null if it cannot be read. Without rules, it needs its country code. */
export function parsePhone(text: string, rules: NumberRules = DEFAULT_NUMBER_RULES): PhoneDetails | null {
  const described = describeNumber(text, rules);
  return 'fault' in described ? null : described;
}

const details = (e164: string, number: PhoneNumber | undefined): PhoneDetails => ({
  e164,
  isValid: number?.isValid() ?? false,
  type: number?.getType() ?? null,
  country: number?.country ?? null,
});

/** Returns true if national numbers of this country (ISO 3166-1 alpha-2 in capitals) can be parsed. */
export const isPhoneCountry = (country: string): boolean => isSupportedCountry(country);

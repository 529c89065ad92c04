import type { NumberFault, NumberRules } from '../../../../platform/lib/phone/number-rules.ts';
import { describeNumber, type PhoneDetails } from '../../../../platform/lib/phone/phone-details.ts';
import type { Cause, Change } from '../rows.ts';
import type { Cleaning } from './options.ts';

/** A number that was read, with the change that it needed, or the error in it. */
export type CleanNumber =
  | { readonly phone: PhoneDetails; readonly change?: Change }
  | { readonly fault: NumberFault; readonly cause: Cause };

export type NumberCleaning = Pick<Cleaning, 'countries' | 'plus' | 'extract'>;

/** A number of at least six digits in a longer text. */
const INSIDE = /(?:\+|\(?\d)[\d ().-]{4,}\d/g;
/** Form in which a spreadsheet shows a long number that it took for a quantity: its last digits are lost. */
const ROUNDED = /^\d(?:[.,]\d+)?E\+?\d{1,2}$/i;
const INTERNATIONAL = /^\s*(?:\+|00)/;

/**
 * Reads a number and, if it is faulty, tries what the cleaning allows: a plus, other countries, a part of the text, in
 * this order. A number that can be read without cleaning is never read otherwise.
 */
export function readCleanNumber(text: string, rules: NumberRules, cleaning: NumberCleaning): CleanNumber {
  const plain = describeNumber(text, rules);
  if (!('fault' in plain)) return { phone: plain, ...nationalChange(text, plain, rules) };
  const cause = ROUNDED.test(text.trim()) ? 'rounded' : plain.fault;
  if (cause === 'rounded') return { fault: plain.fault, cause };
  return (
    (cleaning.plus ? readWithPlus(text, rules) : null) ??
    firstOf(cleaning.countries, (country) => readWithCountry(text, rules, country)) ??
    (cleaning.extract ? extractNumber(text, rules, cleaning) : null) ?? { fault: plain.fault, cause }
  );
}

/** Returns the change of a number that was read with the country of the file, so that a person sees the result. */
function nationalChange(text: string, phone: PhoneDetails, { defaultCountry }: NumberRules) {
  if (defaultCountry === null || INTERNATIONAL.test(text)) return {};
  return { change: changeOf('country', text, phone, defaultCountry) };
}

function readWithPlus(text: string, rules: NumberRules): CleanNumber | null {
  if (INTERNATIONAL.test(text)) return null;
  const phone = describeNumber(`+${text.trim()}`, rules);
  return 'fault' in phone || !phone.isValid ? null : { phone, change: changeOf('plus', text, phone) };
}

function readWithCountry(text: string, rules: NumberRules, country: string): CleanNumber | null {
  if (INTERNATIONAL.test(text)) return null;
  const phone = describeNumber(text, { ...rules, defaultCountry: country });
  return 'fault' in phone || !phone.isValid ? null : { phone, change: changeOf('country', text, phone, country) };
}

/** Finds the first valid number in a text, with the country of the file or one of the cleaning. */
function extractNumber(text: string, rules: NumberRules, { countries }: NumberCleaning): CleanNumber | null {
  const within = text.replaceAll(/[\u00a0\u2000-\u200b\u202f]/g, ' ').replaceAll(/[\u2010-\u2015]/g, '-');
  const parts = within.length > MAX_LENGTH ? [] : [within.replaceAll('/', ' '), ...within.split('/')];
  const found = firstOf(
    parts.flatMap((part) => part.match(INSIDE) ?? []),
    (part) => firstOf([rules.defaultCountry, ...countries], (country) => validNumber(part, rules, country)),
  );
  return found && { phone: found, change: changeOf('extract', text, found) };
}

/** A cell with a longer text is a remark, not a number. */
const MAX_LENGTH = 200;

function validNumber(text: string, rules: NumberRules, country: string | null): PhoneDetails | null {
  const phone = describeNumber(text, { ...rules, defaultCountry: country });
  return 'fault' in phone || !phone.isValid ? null : phone;
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | null): R | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

const changeOf = (cure: Change['cure'], before: string, phone: PhoneDetails, country?: string): Change => ({
  cure,
  field: 'phoneNumber',
  ...(country !== undefined && { country }),
  before,
  after: phone.e164,
});

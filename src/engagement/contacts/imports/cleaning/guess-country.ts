import { DEFAULT_NUMBER_RULES, type NumberRules } from '../../../../platform/lib/phone/number-rules.ts';
import { describeNumber, isPhoneCountry } from '../../../../platform/lib/phone/phone-details.ts';
import { NAMES_BY_LANGUAGE } from '../header-names.ts';

/** Facts from the beginning of a file: the names of its columns, normalised, and its first rows. */
export type CountrySample = {
  readonly names: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly numberAt: number;
  /** The country of the account; null: not set. */
  readonly accountCountry: string | null;
};

/** Candidate countries for the numbers of a file without a country code, the likeliest first. */
export type CountryGuess = {
  /** Likely country; null if there is no evidence for any. */
  readonly country: string | null;
  readonly candidates: readonly string[];
};

/**
 * Weight of each sign of a country. Numbers are stronger evidence than email addresses, and these than the language.
 */
const WEIGHTS = { number: 4, email: 2, language: 1 } as const;
/** Minimum share of the numbers without a country code that must be valid in a country. */
const MIN_SHARE = 0.5;
const MAX_CANDIDATES = 3;
const DOMAIN = /@[^\s@]+\.([a-z]{2})$/i;

/**
 * Guesses the country of the numbers of a file that have no country code: from those that have one, with a plus or
 * without, from email addresses and from the language of the column names. A country counts only if most of the numbers
 * are valid there. The account's country comes first unless another one reads more of them.
 */
export function guessCountry({ names, rows, numberAt, accountCountry }: CountrySample): CountryGuess {
  const numbers = rows.map((row) => row[numberAt]?.trim() ?? '').filter((text) => text !== '');
  const votes = new Map<string, number>(accountCountry === null ? [] : [[accountCountry, 1]]);
  const vote = (country: string | null, weight: number): void => {
    if (country !== null && isPhoneCountry(country)) votes.set(country, (votes.get(country) ?? 0) + weight);
  };
  for (const text of numbers) vote(countryInNumber(text), WEIGHTS.number);
  for (const row of rows) for (const cell of row) vote(countryOfAddress(cell), WEIGHTS.email);
  for (const { country, names: known } of NAMES_BY_LANGUAGE) {
    const all = new Set(Object.values(known).flatMap((list) => list.split(' ')));
    for (const name of names) if (all.has(name)) vote(country, WEIGHTS.language);
  }
  const national = numbers.filter(lacksCountryCode);
  const rated = [...votes].map(([country, weight]) => ({ country, weight, share: shareValid(national, country) }));
  const rank = ({ country, weight, share }: (typeof rated)[number]): number =>
    Math.round(share * 10) * 1e6 + (country === accountCountry ? 1e5 : 0) + weight;
  const candidates = rated
    .filter(({ share }) => national.length === 0 || share >= MIN_SHARE)
    .toSorted((a, b) => rank(b) - rank(a))
    .map(({ country }) => country)
    .slice(0, MAX_CANDIDATES);
  return { country: candidates[0] ?? accountCountry, candidates };
}

/** Returns true if a text is a number without a country code; other texts are no evidence for a country. */
function lacksCountryCode(text: string): boolean {
  const read = describeNumber(text, DEFAULT_NUMBER_RULES);
  return 'fault' in read && read.fault === 'no_country_code';
}

/**
 * Returns the country of a number that includes it: after a plus, or by digits that are valid as an international
 * number.
 */
function countryInNumber(text: string): string | null {
  const plain = describeNumber(text, DEFAULT_NUMBER_RULES);
  if (!('fault' in plain)) return plain.country;
  const digits = text.replaceAll(/\D/g, '');
  if (digits.length < MIN_INTERNATIONAL_DIGITS) return null;
  const read = describeNumber(`+${digits}`, DEFAULT_NUMBER_RULES);
  return 'fault' in read || !read.isValid || read.type !== 'MOBILE' ? null : read.country;
}

/** Shorter digits are too often a national number and, by chance, also a valid international one. */
const MIN_INTERNATIONAL_DIGITS = 11;

/** Two-letter domains that do not belong, or not mostly, to the country with these letters. */
const UNUSUAL_DOMAINS: Readonly<Record<string, string | null>> = {
  UK: 'GB',
  EU: null,
  IO: null,
  CO: null,
  ME: null,
  TV: null,
  AI: null,
};

function countryOfAddress(cell: string): string | null {
  const domain = DOMAIN.exec(cell.trim())?.[1]?.toUpperCase();
  if (domain === undefined) return null;
  return domain in UNUSUAL_DOMAINS ? (UNUSUAL_DOMAINS[domain] ?? null) : domain;
}

function shareValid(numbers: readonly string[], country: string): number {
  const rules: NumberRules = { ...DEFAULT_NUMBER_RULES, defaultCountry: country };
  const valid = numbers.filter((text) => {
    const read = describeNumber(text, rules);
    return !('fault' in read) && read.isValid && read.country === country;
  });
  return numbers.length === 0 ? 0 : valid.length / numbers.length;
}

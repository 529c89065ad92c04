import {
  DEFAULT_NUMBER_RULES,
  describeNumber,
  isPhoneCountry,
  type NumberFault,
  type NumberRules,
  type PhoneDetails,
} from '../core/phone.ts';
import { IMPORTED_FIELDS, LANGUAGES, namesIn } from './contact-fields.ts';
import { readText } from './fields.ts';
import type { BadRow, Cause, Change, CheckedRow, Cure, GoodRow, RowFault } from './import-rows.ts';

/** Facts from the beginning of a file: the names of its columns, normalised, and its first rows. */
type CountrySample = {
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
  for (const country of LANGUAGES) {
    const all = new Set(IMPORTED_FIELDS.flatMap((field) => namesIn(country, field)));
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

/** Handling of a column with whole names: kept as it is, or split into first and last name. */
export const NAME_ORDERS = ['keep', 'firstLast', 'lastFirst'] as const;
export type NameOrder = (typeof NAME_ORDERS)[number];

/** Cells of a row, by their columns from 1, that replace those of the file. */
type Edit = { readonly line: number; readonly cells: Readonly<Record<string, string>> };

/** Options for cleaning faulty values of a file. Without them, each faulty value rejects its row. */
export type Cleaning = {
  readonly names: NameOrder;
  /** Fields whose faulty values are dropped (`email`, `customFields.born`); `row`: cells beyond the last column. */
  readonly drop: readonly string[];
  /** Countries (ISO 3166-1 alpha-2), in this order, for numbers that cannot be read with the country of the file. */
  readonly countries: readonly string[];
  /** True if numbers that have no plus and are not valid in the country may begin with a country code. */
  readonly plus: boolean;
  /** True if a number is searched for in a cell that has other text. */
  readonly extract: boolean;
  /** Fields whose dates are read in this order, where they are not `yyyy-MM-dd`. */
  readonly dayFirst: readonly string[];
  readonly monthFirst: readonly string[];
  readonly edits: readonly Edit[];
};

export const NO_CLEANING: Cleaning = {
  names: 'keep',
  drop: [],
  countries: [],
  plus: false,
  extract: false,
  dayFirst: [],
  monthFirst: [],
  edits: [],
};

const DATE_ORDERS = ['dayFirst', 'monthFirst'] as const;
type DateOrder = (typeof DATE_ORDERS)[number];

/** A date in numbers, with a year of four digits and perhaps a time, as spreadsheets write it. */
const DATE =
  /^(?:(?<year>\d{4})([./-])(?<month>\d{1,2})\2(?<day>\d{1,2})|(?<first>\d{1,2})([./-])(?<second>\d{1,2})\6(?<last>\d{4}))(?:[ T]\d{1,2}:\d\d(?::\d\d)?)?$/;

/** Reads a date written in numbers as `yyyy-MM-dd`; null if it is no date in this order. */
function readDate(text: string, order: DateOrder): string | null {
  const { year, month, day, first, second, last } = DATE.exec(text.trim())?.groups ?? {};
  const [m, d] = year ? [month, day] : order === 'dayFirst' ? [second, first] : [first, second];
  const date = [year ?? last, m?.padStart(2, '0'), d?.padStart(2, '0')].join('-');
  return readText({ type: 'date' }, date) === undefined ? null : date;
}

/** Reads a date in the order that the cleaning has for its field, with the change; null if it has none that fits. */
export function readCleanDate(text: string, field: string, cleaning: Pick<Cleaning, DateOrder>): Change | null {
  return firstOf(DATE_ORDERS, (cure) => (cleaning[cure].includes(field) ? dateChange(text, field, cure) : null));
}

function dateChange(before: string, field: string, cure: DateOrder): Change | null {
  const after = readDate(before, cure);
  return after === null ? null : { cure, field, before, after };
}

/** A number that was read, with the change that it needed, or the error in it. */
type CleanNumber =
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

type ChangeSample = { readonly line: number; readonly before: string; readonly after: string };

/** The values that are changed in the same way, with the first of them. */
export type ChangeGroup = {
  readonly cure: Cure;
  readonly field: string;
  readonly country: string | null;
  readonly rows: number;
  readonly samples: readonly ChangeSample[];
};

/**
 * The rejected rows with the same fault, with the first of them, and the cures with the number of rows that each would
 * cure.
 */
type FaultGroup = {
  readonly cause: Cause;
  readonly field: string;
  readonly rows: number;
  readonly samples: readonly { readonly line: number; readonly value: string }[];
  readonly cures: readonly ChangeGroup[];
};

/** Faults of the rows of a file, by cause, and the changes made to import rows. */
export type CleaningReport = { readonly groups: readonly FaultGroup[]; readonly changes: readonly ChangeGroup[] };

export const EMPTY_REPORT: CleaningReport = { groups: [], changes: [] };

/** Number of values shown of a group. */
const SAMPLES = 5;
/** Values are cut at this length; a person recognises them by less. */
const SHOWN_LENGTH = 80;
/** A file has at most 200 columns, and few of them can be faulty in more than one way. */
const MAX_GROUPS = 300;

type ReportOptions = {
  /** Name by which faults refer to the field of each column; null: it is ignored. */
  readonly fields: readonly (string | null)[];
  /** Those of `fields` whose values are dates. */
  readonly dates: ReadonlySet<string>;
  readonly rules: NumberRules;
  readonly cleaning: Cleaning;
  /** Candidate countries for numbers without a country code, the likeliest first. */
  readonly candidates: readonly string[];
};

export type Reporter = {
  add(row: CheckedRow): void;
  report(): CleaningReport;
};

/**
 * Creates the collector of the faults and changes of the rows of a file, in memory that does not grow with their
 * number. The cures of faulty numbers are tried on each of them, so their figures are exact.
 */
export function createReporter({ fields, dates, rules, cleaning, candidates }: ReportOptions): Reporter {
  const trials = numberTrials(rules, cleaning, candidates);
  const groups = new Map<string, GrowingGroup>();
  const changes = new Map<string, Growing<ChangeGroup>>();

  const valueOf = ({ cells }: BadRow, field: string): string =>
    field === 'row' ? cells.join(' | ') : (cells.find((cell, i) => fields[i] === field && cell.trim() !== '') ?? '');

  function addFault({ line, faults }: BadRow, { field, cause }: RowFault, value: string): void {
    if (cause === undefined) return;
    const group = entryOf(groups, `${cause} ${field}`, () => ({
      cause,
      field,
      rows: 0,
      samples: [],
      cures: new Map(),
    }));
    if (group === null) return;
    group.rows++;
    if (group.samples.length < SAMPLES) group.samples.push({ line, value: shown(value) });
    const cures = dates.has(field) ? dateCures(field, cause, value, cleaning) : curesOf(field, cause, value, trials);
    for (const change of cures) {
      // A row with another fault stays rejected, so its cure is counted only where no other cure is needed.
      if (faults.length === 1) addChange(group.cures, line, change);
    }
  }
  return {
    add(row) {
      if ('faults' in row) for (const fault of row.faults) addFault(row, fault, valueOf(row, fault.field));
      else for (const change of changesOf(row)) addChange(changes, row.line, change);
    },
    report: () => ({
      groups: byRows(
        [...groups.values()].map(({ cures, ...group }) => ({ ...group, cures: bestFirst([...cures.values()]) })),
      ),
      changes: byRows([...changes.values()]),
    }),
  };
}

const changesOf = ({ changes = [] }: GoodRow): readonly Change[] => changes;

type Growing<T extends { rows: number }> = Omit<T, 'rows' | 'samples'> & { rows: number; samples: ChangeSample[] };
type GrowingGroup = Omit<FaultGroup, 'rows' | 'samples' | 'cures'> & {
  rows: number;
  samples: { line: number; value: string }[];
  cures: Map<string, Growing<ChangeGroup>>;
};

const byRows = <T extends { readonly rows: number }>(groups: readonly T[]): T[] =>
  groups.toSorted((a, b) => b.rows - a.rows);

/** The cures by the number of rows; dropping a value loses it, and comes last. */
const bestFirst = (cures: readonly Growing<ChangeGroup>[]): ChangeGroup[] =>
  byRows(cures).toSorted((a, b) => Number(a.cure === 'drop') - Number(b.cure === 'drop'));

const shown = (text: string): string => text.trim().slice(0, SHOWN_LENGTH).toWellFormed().replaceAll('\0', '\ufffd');

function entryOf<T>(entries: Map<string, T>, key: string, make: () => T): T | null {
  const there = entries.get(key);
  if (there !== undefined) return there;
  if (entries.size >= MAX_GROUPS) return null;
  const made = make();
  entries.set(key, made);
  return made;
}

function addChange(entries: Map<string, Growing<ChangeGroup>>, line: number, change: Change): void {
  const { cure, field, country = null } = change;
  const group = entryOf(entries, `${cure} ${country} ${field}`, () => ({ cure, field, country, rows: 0, samples: [] }));
  if (group === null) return;
  group.rows++;
  if (group.samples.length < SAMPLES)
    group.samples.push({ line, before: shown(change.before), after: shown(change.after) });
}

type Trial = { readonly rules: NumberRules; readonly cleaning: NumberCleaning };

/** Returns the ways to read a faulty number that the cleaning does not use yet, one at a time. */
function numberTrials(rules: NumberRules, cleaning: Cleaning, candidates: readonly string[]): readonly Trial[] {
  const { countries } = cleaning;
  const others = candidates.filter((country) => country !== rules.defaultCountry && !countries.includes(country));
  const without: NumberCleaning = { countries: [], plus: false, extract: false };
  return [
    ...others.map((country) => ({ rules, cleaning: { ...without, countries: [country] } })),
    ...(cleaning.plus ? [] : [{ rules, cleaning: { ...without, plus: true } }]),
    ...(cleaning.extract ? [] : [{ rules, cleaning: { ...without, countries, extract: true } }]),
  ];
}

/** Fields that every contact needs. */
const NEEDED: ReadonlySet<string> = new Set(['phoneNumber']);
const ROW_CAUSES: ReadonlySet<Cause> = new Set(['duplicate', 'limit']);

/** The orders in which a date can be read, if the cleaning has none for its field, and dropping it. */
function dateCures(field: string, cause: Cause, value: string, cleaning: Cleaning): readonly Change[] {
  const isRead = DATE_ORDERS.some((order) => cleaning[order].includes(field));
  const orders = cause === 'type' && !isRead ? DATE_ORDERS : [];
  const read = orders.map((order) => dateChange(value, field, order)).filter((change) => change !== null);
  return [...read, { cure: 'drop', field, before: value, after: '' }];
}

function curesOf(field: string, cause: Cause, value: string, trials: readonly Trial[]): readonly Change[] {
  if (ROW_CAUSES.has(cause) || cause === 'number_missing' || cause === 'rounded') return [];
  if (!NEEDED.has(field)) return [{ cure: 'drop', field, before: value, after: '' }];
  return trials.flatMap(({ rules, cleaning }) => {
    const read = readCleanNumber(value, rules, cleaning);
    if (!('phone' in read) || read.change === undefined) return [];
    // A number that a country or a plus cures needs no search in the text.
    return [read.change].filter(({ cure }) => !cleaning.extract || cure === 'extract');
  });
}

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

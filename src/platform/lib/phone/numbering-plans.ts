import {
  type CountryCallingCode,
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  Metadata,
  type NumberType,
} from 'libphonenumber-js/max';
import metadata from 'libphonenumber-js/metadata.max';
import { callingCodeOf } from './phone.ts';

/** What the metadata of a country contains. The library has these methods, although its types do not say so. */
type CountryMetadata = {
  IDDPrefix(): string;
  /** 0 if there are none. */
  leadingDigits(): string | 0;
  nationalNumberPattern(): string;
  /** 0 if there is none. */
  nationalPrefixForParsing(): string | 0;
  possibleLengths(): readonly number[];
  type(type: NumberType): { pattern(): string; possibleLengths(): readonly number[] } | undefined;
};

/** The numbering plan of a country, with its patterns compiled. */
type Plan = {
  readonly callingCode: string;
  /** Whether it is the main one of the countries that share its calling code. */
  readonly isMain: boolean;
  /** How a number of another country begins when it is dialled from here. */
  readonly internationalPrefix: RegExp;
  /** What may be written before a national number. */
  readonly nationalPrefix: RegExp | null;
  /** Whether digits have the form of a national number, valid or not. */
  hasForm(national: string): boolean;
  /** Whether digits are a valid national number, and no rule gives them to another country with this calling code. */
  isValid(national: string): boolean;
};

/**
 * Reads digits that are a valid number of a country: as they are, after its national prefix (`0` in most countries), or
 * after its calling code. Returns the number in E.164, which is what libphonenumber reads; null when that must be asked,
 * because the digits are not valid, could mean two numbers, or have a prefix with a rule of its own.
 *
 * Takes about 1 µs where libphonenumber takes 10, because that compiles its patterns anew for each number.
 */
export function readNationalDigits(digits: string, country: string): string | null {
  const plan = planOf(country);
  if (plan === null || plan.internationalPrefix.test(digits)) return null;
  const prefix = prefixOf(plan, digits);
  if (prefix === null) return null;
  return inE164(plan, digits.slice(prefix.length)) ?? (prefix === '' ? readWithCallingCode(plan, digits) : null);
}

const inE164 = (plan: Plan, national: string): string | null =>
  plan.isValid(national) ? `+${plan.callingCode}${national}` : null;

/** Reads a number with its calling code and without the plus, unless all of it could be a national number. */
function readWithCallingCode(plan: Plan, digits: string): string | null {
  if (!plan.isMain || !digits.startsWith(plan.callingCode) || plan.hasForm(digits)) return null;
  const national = digits.slice(plan.callingCode.length);
  return prefixOf(plan, national) === '' ? inE164(plan, national) : null;
}

/** Returns what is written before a national number and is no part of it; null where a rule of its own says what it is. */
function prefixOf({ nationalPrefix }: Pick<Plan, 'nationalPrefix'>, digits: string): string | null {
  const [prefix = '', ...groups] = nationalPrefix?.exec(digits) ?? [];
  return groups.some((group) => group) ? null : prefix;
}

/**
 * Whether libphonenumber reads digits that begin with a calling code as they are, and calls the number possible: they
 * have a length of their country, and what follows the code does not begin with a national prefix.
 */
export function isPlainInternational(digits: string): boolean {
  const code = callingCodeOf(digits);
  if (code === null) return false;
  const plan = codePlanOf(code);
  const national = digits.slice(code.length);
  return plan.lengths.has(national.length) && prefixOf(plan, national) === '' && !isOddElsewhere(plan, national);
}

/** The plan of the main country of a calling code, or of the network or service that has it. */
type CodePlan = Pick<Plan, 'nationalPrefix'> & {
  readonly lengths: ReadonlySet<number>;
  /** The countries with the same calling code that have other lengths. */
  readonly others: readonly { readonly leading: RegExp; readonly lengths: ReadonlySet<number> }[];
};

const isOddElsewhere = ({ others }: CodePlan, national: string): boolean =>
  others.some(({ leading, lengths }) => !lengths.has(national.length) && leading.test(national));

const codePlans = new Map<string, CodePlan>();

function codePlanOf(code: string): CodePlan {
  const known = codePlans.get(code);
  if (known) return known;
  const own = metadataOf(code);
  const others = (metadata.country_calling_codes[code as CountryCallingCode] ?? []).slice(1).flatMap((country) => {
    const other = metadataOf(country);
    const leading = other.leadingDigits();
    return leading === 0 ? [] : [{ leading: start(leading), lengths: new Set(other.possibleLengths()) }];
  });
  const plan = { nationalPrefix: nationalPrefixOf(own), lengths: new Set(own.possibleLengths()), others };
  codePlans.set(code, plan);
  return plan;
}

/** By country; null for those that were not asked for yet. */
const plans = new Map<string, Plan | null>(getCountries().map((country) => [country, null]));

function planOf(country: string): Plan | null {
  const known = plans.get(country);
  if (known !== null) return known ?? null;
  const plan = makePlan(country as CountryCode);
  plans.set(country, plan);
  return plan;
}

function makePlan(country: CountryCode): Plan {
  const own = metadataOf(country);
  const callingCode = getCountryCallingCode(country);
  const countries = metadata.country_calling_codes[callingCode] ?? [];
  const form = whole(own.nationalNumberPattern());
  const types = typesOf(own);
  const leading = start(own.leadingDigits() || '');
  const elsewhere = countries.flatMap((other) => leadingDigitsOf(other, country));
  return {
    callingCode,
    isMain: countries[0] === country,
    internationalPrefix: start(own.IDDPrefix()),
    nationalPrefix: nationalPrefixOf(own),
    hasForm: (national) => form.test(national),
    isValid: (national) =>
      form.test(national) &&
      types.some(({ lengths, pattern }) => lengths.includes(national.length) && pattern.test(national)) &&
      leading.test(national) &&
      !elsewhere.some((digits) => digits.test(national)),
  };
}

/** The leading digits that give a number to another country than `country`. */
function leadingDigitsOf(other: CountryCode, country: CountryCode): RegExp[] {
  const digits = metadataOf(other).leadingDigits();
  return digits === 0 || other === country ? [] : [start(digits)];
}

/** Mobile numbers come first, because most messages go there. */
const TYPES = [
  'MOBILE',
  'FIXED_LINE',
  'TOLL_FREE',
  'PREMIUM_RATE',
  'SHARED_COST',
  'VOIP',
  'PERSONAL_NUMBER',
  'PAGER',
  'UAN',
  'VOICEMAIL',
] as const satisfies readonly NumberType[];

function typesOf(own: CountryMetadata): { pattern: RegExp; lengths: readonly number[] }[] {
  const possible = own.possibleLengths();
  return TYPES.flatMap((name) => {
    const type = own.type(name);
    if (!type?.pattern()) return [];
    const lengths = type.possibleLengths().filter((length) => possible.includes(length));
    return [{ pattern: whole(type.pattern()), lengths }];
  });
}

function nationalPrefixOf(own: CountryMetadata): RegExp | null {
  const prefix = own.nationalPrefixForParsing();
  return prefix === 0 ? null : start(prefix);
}

/** Takes a calling code as well as a country, as the library does, although its types do not say so. */
function metadataOf(countryOrCode: string): CountryMetadata {
  const selected = new Metadata();
  selected.selectNumberingPlan(countryOrCode as CountryCode);
  return selected as unknown as CountryMetadata;
}

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);
const start = (pattern: string): RegExp => new RegExp(`^(?:${pattern})`);

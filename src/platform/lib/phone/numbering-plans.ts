import { type CountryCallingCode, type CountryCode, Metadata } from 'libphonenumber-js/max';
import metadata from 'libphonenumber-js/metadata.max';
import { callingCodeOf } from './phone.ts';

/**
 * Parts of the library's metadata of a numbering plan that its types omit: the only place that reaches past them.
 * Asking the library costs 10 µs for each number, because it compiles its patterns again; a message in bulk takes 17 to
 * 59 µs of this process in all (docs/how-to/capacity-planning.md).
 */
type PlanMetadata = {
  /** 0 if there are none. */
  leadingDigits(): string | 0;
  /** 0 if there is none. */
  nationalPrefixForParsing(): string | 0;
  possibleLengths(): readonly number[];
};

/** The plan of the main country of a calling code, or of the network or service that has it. */
type Plan = {
  /** Prefix that may be written before a national number. */
  readonly nationalPrefix: RegExp | null;
  readonly lengths: ReadonlySet<number>;
  /** The countries with the same calling code that have other lengths. */
  readonly others: readonly { readonly leading: RegExp; readonly lengths: ReadonlySet<number> }[];
};

/**
 * Returns true if libphonenumber reads digits that begin with a calling code as they are, and considers the number
 * possible: they have a length of their country, and the digits after the code do not begin with a national prefix.
 * Takes about 1 µs.
 */
export function isPlainInternational(digits: string): boolean {
  const code = callingCodeOf(digits);
  if (code === null) return false;
  const { lengths, nationalPrefix, others } = planOf(code);
  const national = digits.slice(code.length);
  if (!lengths.has(national.length)) return false;
  const [prefix = '', ...groups] = nationalPrefix?.exec(national) ?? [];
  // A prefix with a group has its own rule.
  if (prefix !== '' || groups.some((group) => group)) return false;
  return !others.some((other) => !other.lengths.has(national.length) && other.leading.test(national));
}

const plans = new Map<string, Plan>();

function planOf(code: string): Plan {
  const known = plans.get(code);
  if (known) return known;
  const own = metadataOf(code);
  const others = (metadata.country_calling_codes[code as CountryCallingCode] ?? []).slice(1).flatMap((country) => {
    const other = metadataOf(country);
    const leading = other.leadingDigits();
    return leading === 0 ? [] : [{ leading: start(leading), lengths: new Set(other.possibleLengths()) }];
  });
  const prefix = own.nationalPrefixForParsing();
  const plan = { nationalPrefix: prefix === 0 ? null : start(prefix), lengths: new Set(own.possibleLengths()), others };
  plans.set(code, plan);
  return plan;
}

/** Takes a calling code as well as a country, as the library does. */
function metadataOf(countryOrCode: string): PlanMetadata {
  const selected = new Metadata();
  selected.selectNumberingPlan(countryOrCode as CountryCode);
  return selected as unknown as PlanMetadata;
}

const start = (pattern: string): RegExp => new RegExp(`^(?:${pattern})`);

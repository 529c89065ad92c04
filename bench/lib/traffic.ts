/** The text of every message. */
export const BODY = 'Your parcel arrives today between 10 and 12. Track it at example.com/t/4711.';

/**
 * Returns a distinct number whose last four digits stay below 9000: the sandbox gives meanings to those from 9901 on.
 */
export const destinationOf = (n: number): string =>
  `+3933${1000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;

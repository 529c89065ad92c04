export const BODY = 'Your parcel arrives today between 10 and 12. Track it at example.com/t/4711.';

/** Ends below 9000: the sandbox gives meanings to the endings from 9901 on. */
export const destinationOf = (n: number): string =>
  `+3933${1000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;

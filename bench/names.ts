const SYLLABLES = 'an be ca do el fa gi ho ir ju ka lo mi no or pe ru sa ti ve'.split(' ');

/** The name of a person who does not exist; 20 to the power of `syllables` numbers have one of their own. */
export const nameOf = (n: number, syllables: number): string =>
  Array.from({ length: syllables }, (_, i) => SYLLABLES[Math.floor(n / 20 ** i) % 20]).join('');

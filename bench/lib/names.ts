const SYLLABLES = 'an be ca do el fa gi ho ir ju ka lo mi no or pe ru sa ti ve'.split(' ');

/** Returns the name of a fictitious person; 20 to the power of `syllables` numbers each have a different one. */
export const nameOf = (n: number, syllables: number): string =>
  Array.from({ length: syllables }, (_, i) => SYLLABLES[Math.floor(n / 20 ** i) % 20]).join('');

import { Type } from 'typebox';

export const PrefixField = Type.String({
  pattern: String.raw`^\d{0,15}$`,
  description: 'Leading digits without the plus; empty for all numbers.',
  'x-message': 'must be up to 15 digits',
});

/** A plus in a query that was not encoded arrives as a blank. */
export const NumberField = Type.String({
  pattern: String.raw`^[+ ]?\d{1,15}$`,
  description: 'E.164; the plus may be left out.',
  'x-message': 'must be a number in E.164 form',
});

export const digitsOf = (number: string): string => number.replace(/\D/g, '');

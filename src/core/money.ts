import { Type } from 'typebox';
import type { Scope } from './actor.ts';

const MICROS = 1_000_000;
/** Up to this amount the product with a million is off by a tenth at most; far beyond it, rounding would be wrong. */
const MAX_EXACT_AMOUNT = 1e9;

/** Converts micro-units to currency units, for responses: 35,000 is 0.035. Exact up to a billion units. */
export const fromMicros = (micros: number): number => micros / MICROS;

/**
 * Converts currency units to micro-units. Null if the amount is not finite, is finer than a millionth, or is too large
 * to be exact.
 */
export function toMicros(amount: number): number | null {
  const micros = Math.round(amount * MICROS);
  // A decimal number and its quotient are the same double, so no tolerance is needed.
  return Math.abs(amount) <= MAX_EXACT_AMOUNT && micros / MICROS === amount ? micros : null;
}

/** The part of a caller that decides if amounts are shown. */
export type AmountReader = { readonly operations: ReadonlySet<Scope> };

/** Returns true if a caller sees prices, costs and balances. */
export const seesAmounts = ({ operations }: AmountReader): boolean => operations.has('money');

/** Converts an amount for a response of this caller: null without the scope `money`. */
export const amountFor = (reader: AmountReader, micros: number): number | null =>
  seesAmounts(reader) ? fromMicros(micros) : null;

/** The schema of an amount that only callers with the scope `money` see. */
export const shownAmount = (description: string) =>
  Type.Union([Type.Number({ description: `${description} Null without the scope \`money\`.` }), Type.Null()], {
    'x-scope': 'money',
  });

type Lack = { readonly priceMicros: number; readonly availableMicros: number; readonly currency: string };

/** Returns a text that explains a lack of credit, with the amounts. */
export const withAmounts = (text: string, { priceMicros, availableMicros, currency }: Lack): string =>
  `${text}${AMOUNTS}${fromMicros(priceMicros)} ${currency}, and ${fromMicros(availableMicros)} is available`;

const AMOUNTS = ': the message costs ';

/** Returns a text, made by `withAmounts` or not, as this caller may see it. */
export const textFor = (reader: AmountReader, text: string): string =>
  seesAmounts(reader) ? text : (text.split(AMOUNTS, 1)[0] ?? '');

/** The schema of a text that may come from `withAmounts`. */
export const textWithAmounts = (description: string) =>
  Type.String({
    description: `${description} Without amounts for callers without the scope \`money\`.`,
    'x-amounts': true,
  });

/** Returns true if a schema was made by `textWithAmounts`. */
export const isTextWithAmounts = (schema: Readonly<Record<string, unknown>>): boolean => schema['x-amounts'] === true;

/** Returns true if a schema was made by `shownAmount`. */
export const isAmountSchema = (schema: Readonly<Record<string, unknown>>): boolean => schema['x-scope'] === 'money';

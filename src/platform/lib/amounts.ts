import { Type } from 'typebox';
import { fromMicros } from './money.ts';
import type { Scope } from './scope.ts';

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

/** Start of the amounts in such a text. */
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

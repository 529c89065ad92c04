import { type Static, Type } from 'typebox';
import { fromMicros } from '../../../platform/lib/money.ts';
import type { LedgerRow } from './sql.ts';

const amount = (description: string) => Type.Number({ description });
const LedgerKind = Type.Enum(['topup', 'freeze', 'settle', 'return'], {
  type: 'string',
  description:
    'topup: credit was added. freeze: the price of accepted messages was reserved. settle: the price of sent messages was ' +
    'charged. return: the price of messages that were not sent was released again.',
});
const BookName = Type.Enum(['outside', 'available', 'frozen', 'earned'], { type: 'string' });

export const ledgerFilter = { kind: Type.Optional(LedgerKind) };
export const LedgerOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: Type.String({ format: 'date-time', description: 'UTC' }),
  kind: LedgerKind,
  from: BookName,
  to: BookName,
  amount: amount('Currency units.'),
  messages: Type.Integer(),
  reference: Type.String(),
});
export const EntryOut = Type.Object({
  ...LedgerOut.properties,
  balance: Type.Union([amount('The available credit after this entry; null in a list of one kind.'), Type.Null()]),
});

/** Converts an entry to the form of the API. */
export const toLedger = ({ at, amountMicros, ...row }: LedgerRow): Static<typeof LedgerOut> => ({
  ...row,
  at: at.toISOString(),
  amount: fromMicros(amountMicros),
});

/**
 * Converts consecutive entries, the newest first, with the available credit after each: `newestMicros` after the first
 * one; null omits it.
 */
export function toEntries(rows: readonly LedgerRow[], newestMicros: number | null): Static<typeof EntryOut>[] {
  let micros = newestMicros;
  return rows.map((row) => {
    const entry = { ...toLedger(row), balance: micros === null ? null : fromMicros(micros) };
    if (micros !== null) micros -= changeOf(row);
    return entry;
  });
}

const changeOf = ({ from, to, amountMicros }: LedgerRow): number =>
  to === 'available' ? amountMicros : from === 'available' ? -amountMicros : 0;

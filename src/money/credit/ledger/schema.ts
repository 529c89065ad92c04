import { type Static, Type } from 'typebox';
import { fromMicros } from '../../../platform/lib/money.ts';
import type { LedgerRow } from './sql.ts';

const amount = (description: string) => Type.Number({ description });
const LedgerKind = Type.Enum(['topup', 'freeze', 'settle', 'return'], {
  type: 'string',
  description:
    'topup: credit was added. freeze: the price of messages that were accepted was set aside. settle: of those that were ' +
    'sent it was spent. return: of those that were not it can be spent again.',
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
  balance: Type.Union([amount('What could be spent after it; null in a list of one kind.'), Type.Null()]),
});

/** An entry as the interface writes it. */
export const toLedger = ({ at, amountMicros, ...row }: LedgerRow): Static<typeof LedgerOut> => ({
  ...row,
  at: at.toISOString(),
  amount: fromMicros(amountMicros),
});

/** Entries that follow one another, the newest first, with what could be spent after each; null: not told. */
export function toEntries(rows: readonly LedgerRow[], newestMicros: number | null): Static<typeof EntryOut>[] {
  let micros = newestMicros;
  return rows.map((row) => {
    const entry = { ...toLedger(row), balance: micros === null ? null : fromMicros(micros) };
    if (micros !== null) micros -= movedOf(row);
    return entry;
  });
}

const movedOf = ({ from, to, amountMicros }: LedgerRow): number =>
  to === 'available' ? amountMicros : from === 'available' ? -amountMicros : 0;

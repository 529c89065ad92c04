import type { Db } from '../../platform/db/query.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { findBalance, listBookTotals } from './sql.ts';

/** The credit of an account in currency units: `credit` is available and frozen together. */
export type Credit = {
  readonly credit: number;
  readonly frozenCredit: number;
  readonly availableCredit: number;
  readonly currency: string;
};

/** Returns the credit of an account; zero when it has no balance. */
export async function creditOf(db: Db, { accountId }: { readonly accountId: number }): Promise<Credit> {
  const { availableMicros = 0, frozenMicros = 0, currency = 'EUR' } = (await findBalance(db, { accountId })) ?? {};
  return {
    credit: fromMicros(availableMicros + frozenMicros),
    frozenCredit: fromMicros(frozenMicros),
    availableCredit: fromMicros(availableMicros),
    currency,
  };
}

/** Returns true if the totals of an account's books add up to zero and match its balance. */
export async function ledgerBalances(db: Db, { accountId }: { readonly accountId: number }): Promise<boolean> {
  const books = await listBookTotals(db, { accountId });
  const total = books.reduce((sum, { micros }) => sum + micros, 0);
  return total === 0 && books.every((book) => (book.balanceMicros ?? book.micros) === book.micros);
}

import type { Db } from '../../platform/db/query.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { findBalance } from './sql.ts';

/** Contract 12, in currency units: `credit` is what is available and what is frozen together. */
export type Credit = {
  readonly credit: number;
  readonly frozenCredit: number;
  readonly availableCredit: number;
  readonly currency: string;
};

/** What an account has to spend. */
export async function creditOf(db: Db, { accountId }: { readonly accountId: number }): Promise<Credit> {
  const { availableMicros = 0, frozenMicros = 0, currency = 'EUR' } = (await findBalance(db, { accountId })) ?? {};
  return {
    credit: fromMicros(availableMicros + frozenMicros),
    frozenCredit: fromMicros(frozenMicros),
    availableCredit: fromMicros(availableMicros),
    currency,
  };
}

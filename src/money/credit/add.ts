import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { topUp } from './charge.ts';

/**
 * Adds credit to the author's account. `amount` is in currency units; `reference` is stored in the ledger. Call it in a
 * transaction. Errors: 400 when the amount is not greater than 0, or has more than 6 decimals.
 */
export async function addCredit(
  tx: Db,
  author: Author,
  { amount, reference }: { readonly amount: number; readonly reference: string },
): Promise<void> {
  const { accountId } = author;
  const micros = toMicros(amount);
  if (micros === null || micros <= 0)
    throw invalidFields([{ field: 'amount', message: 'must be greater than 0, with at most 6 decimals' }]);
  await topUp(tx, { accountId, micros, reference });
  const event = { action: 'credit.add', subject: `account:${accountId}`, detail: { micros, reference } };
  await recordAudit(tx, author, event);
}

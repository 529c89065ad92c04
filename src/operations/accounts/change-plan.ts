import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { updateUnlimited } from '../../money/credit/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { updateAccountPlan } from '../../identity/accounts/sql.ts';

/**
 * Puts the author's account on another plan, which holds from its next request on; an `unlimited` one pays afterwards.
 * Call it in a transaction. Errors: 409 when it owes credit and would have to pay beforehand.
 */
export async function changePlan(tx: Db, author: Author, { plan }: { readonly plan: Plan }): Promise<void> {
  const { accountId } = author;
  if ((await updateAccountPlan(tx, { accountId, plan })) === 0) return;
  if ((await updateUnlimited(tx, { accountId, unlimited: plan === 'unlimited' })) === 0)
    throw new AppError('conflict', { message: 'The account owes credit: add that first' });
  await recordAudit(tx, author, { action: 'account.plan', subject: `account:${accountId}`, detail: { plan } });
}

import { updateAccountPlan } from '../../identity/accounts/sql.ts';
import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { updateUnlimited } from '../../money/credit/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { type Channel, toBits, toChannels } from '../../platform/lib/channel.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { updateChannels } from './sql.ts';

/**
 * Changes the plan of the author's account, effective with its next request. An account on the plan `unlimited` pays after
 * use. Call it in a transaction. Errors: 409 when the account owes credit and would have to pay in advance.
 */
export async function changePlan(tx: Db, author: Author, { plan }: { readonly plan: Plan }): Promise<void> {
  const { accountId } = author;
  if ((await updateAccountPlan(tx, { accountId, plan })) === 0) return;
  if ((await updateUnlimited(tx, { accountId, unlimited: plan === 'unlimited' })) === 0)
    throw new AppError('conflict', { message: 'The account owes credit: add credit first' });
  await recordAudit(tx, author, { action: 'account.plan', subject: `account:${accountId}`, detail: { plan } });
}

/**
 * Sets the channels in the plan of the author's account, effective with the next request to any process. Campaigns that
 * are already confirmed continue. Call it in a transaction.
 */
export async function changeChannels(
  tx: Db,
  author: Author,
  { channels }: { readonly channels: readonly Channel[] },
): Promise<void> {
  const { accountId } = author;
  const bits = toBits(new Set(channels));
  await updateChannels(tx, { accountId, bits });
  const detail = { channels: toChannels(bits) };
  await recordAudit(tx, author, { action: 'account.channels', subject: `account:${accountId}`, detail });
}

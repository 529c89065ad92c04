import type { Pool } from 'pg';
import { discardCampaigns } from '../../engagement/campaigns/lifecycle/discard.ts';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { cancelMessages } from '../../messaging/cancellation/cancel.ts';
import { deleteFallbacksBefore } from '../../messaging/messages/fallback/sql.ts';
import * as db from '../../messaging/restore-guard/sql.ts';
import { notifyRoutingChange } from '../../network/connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';

type Decision = {
  /** The operator who decides, stored with the state of the guard and in the history of each withdrawn message. */
  readonly by: string;
};

const nameOf = (by: string): string => `the operator ${by}`;

/**
 * Pauses all workers, which notice it immediately: nothing is sent until an operator decides. Errors: 409 when sending
 * is already paused.
 */
export function pauseSending(pool: Pool, { by, reason }: Decision & { readonly reason: string }): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToPaused(tx, { reason: `decision of ${nameOf(by)}: ${reason}` })))
      throw new AppError('conflict', { message: 'Sending is already paused' });
    await record(tx, by, 'sending.pause', { reason });
  });
}

/** Resumes sending, including queued messages. Errors: 409 when sending is not paused. */
export function confirmQueued(pool: Pool, { by }: Decision): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToConfirmed(tx, { by: nameOf(by) }))) throw notPaused();
    await record(tx, by, 'sending.resume', {});
  });
}

/** Records the decision in the audit log of the gateway, and makes every worker check the restore guard. */
async function record(tx: Db, by: string, action: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: 'sending', detail });
  await notifyRoutingChange(tx);
}

const notPaused = (): AppError =>
  new AppError('conflict', { message: 'Sending is not paused: there is nothing to decide' });

/**
 * Withdraws all waiting messages that were accepted before the pause: they end DELETED, their credit is returned, and
 * no fallback to another channel follows. Their campaigns are cancelled, or paused if they are scheduled for later.
 * Then sending resumes with the messages accepted since. Each chunk of the queue takes its own transaction, so the call
 * can be repeated after an interruption. Returns the number of withdrawn messages. Errors: 409 when sending is not
 * paused.
 */
export async function discardQueued(pool: Pool, { by, now }: Decision & { readonly now: Date }): Promise<number> {
  const { state, since } = await db.findGuardStatus(pool);
  if (state !== 'paused') throw notPaused();
  const endId = firstIdAt(since);
  let discarded = 0;
  for (;;) {
    const keys = await db.listWaiting(pool, { endId });
    if (keys.length === 0) break;
    const withdrawn = await transaction(pool, (tx) => cancelMessages(tx, keys, { by: nameOf(by), now }));
    if (withdrawn.size === 0)
      throw new AppError('conflict', { message: 'The queue changed in the meantime: run it again' });
    discarded += withdrawn.size;
  }
  await deleteFallbacksBefore(pool, { endId });
  await discardCampaigns(pool, { before: since, by });
  await confirmQueued(pool, { by });
  return discarded;
}

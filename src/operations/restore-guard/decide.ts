import { notifyRoutingChange } from '../../network/connections/sql.ts';
import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { discardCampaigns } from '../../engagement/campaigns/worker/discard.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { cancelMessages } from '../../messaging/cancellation/cancel.ts';
import { deleteFallbacksBefore } from '../../messaging/messages/fallback/sql.ts';
import * as db from '../../messaging/restore-guard/sql.ts';

type Decision = {
  /** The operator who decides: kept with the fence, and in the history of each message that is withdrawn. */
  readonly by: string;
};

const wordsFor = (by: string): string => `the operator ${by}`;

/** Pauses all workers, which hear of it at once: nothing is sent until somebody decides. Errors: 409 when it is so already. */
export function pauseSending(pool: Pool, { by, reason }: Decision & { readonly reason: string }): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToPaused(tx, { reason: `${wordsFor(by)} said so: ${reason}` })))
      throw new AppError('conflict', { message: 'Sending is paused already' });
    await record(tx, by, 'sending.pause', { reason });
  });
}

/** Sends what is queued. Errors: 409 when nothing is paused. */
export function confirmQueued(pool: Pool, { by }: Decision): Promise<void> {
  return transaction(pool, async (tx) => {
    if (!(await db.moveToConfirmed(tx, { by: wordsFor(by) }))) throw notPaused();
    await record(tx, by, 'sending.resume', {});
  });
}

/** In the log of the gateway. The notification makes every worker look at the fence. */
async function record(tx: Db, by: string, action: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: 'sending', detail });
  await notifyRoutingChange(tx);
}

const notPaused = (): AppError => new AppError('conflict', { message: 'Sending is not paused: nothing to decide' });

/**
 * Withdraws everything that was accepted before sending was paused and waits: it ends DELETED and its credit returns.
 * Nothing follows messages on other channels. Campaigns are cancelled, or held where their time has not come. Then sending goes on with what came later. A transaction for each row of the queue, so it may be run again when it was
 * interrupted. Answers how many messages it withdrew. Errors: 409 when nothing is paused.
 */
export async function discardQueued(pool: Pool, { by, now }: Decision & { readonly now: Date }): Promise<number> {
  const { state, since } = await db.findGuardStatus(pool);
  if (state !== 'paused') throw notPaused();
  const endId = firstIdAt(since);
  let discarded = 0;
  for (;;) {
    const keys = await db.listWaiting(pool, { endId });
    if (keys.length === 0) break;
    const gone = await transaction(pool, (tx) => cancelMessages(tx, keys, { by: wordsFor(by), now }));
    if (gone.size === 0) throw new AppError('conflict', { message: 'The queue moved in this moment: run it again' });
    discarded += gone.size;
  }
  await deleteFallbacksBefore(pool, { endId });
  await discardCampaigns(pool, { before: since, by });
  await confirmQueued(pool, { by });
  return discarded;
}

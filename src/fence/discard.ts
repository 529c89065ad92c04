import type { Pool } from 'pg';
import { discardCampaigns } from '../campaigns/run/discard.ts';
import { transaction } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { firstIdAt } from '../lib/ids.ts';
import { cancelMessages } from '../messages/cancel.ts';
import { deleteFallbacksBefore } from '../messages/fallback/sql.ts';
import * as db from './sql.ts';

type Decision = {
  /** Who decides: kept with the fence, and in the history of each message that is withdrawn. */
  readonly by: string;
};

/** Sends what is queued. Errors: 409 when nothing is paused. */
export async function confirmQueued(pool: Pool, { by }: Decision): Promise<void> {
  if (!(await db.moveToConfirmed(pool, { by }))) throw notPaused();
}

const notPaused = (): AppError => new AppError('conflict', { message: 'Sending is not paused: nothing to decide' });

/**
 * Withdraws everything that was accepted before sending was paused and waits: it ends DELETED and its credit returns.
 * Nothing follows messages on other channels. Campaigns are cancelled, or held where their time has not come. Then sending goes on with what came later. A transaction for each row of the queue, so it may be run again when it was
 * interrupted. Answers how many messages it withdrew. Errors: 409 when nothing is paused.
 */
export async function discardQueued(pool: Pool, { by, now }: Decision & { readonly now: Date }): Promise<number> {
  const { state, since } = await db.findFence(pool);
  if (state !== 'paused') throw notPaused();
  const endId = firstIdAt(since);
  let discarded = 0;
  for (;;) {
    const keys = await db.listWaiting(pool, { endId });
    if (keys.length === 0) break;
    const gone = await transaction(pool, (tx) => cancelMessages(tx, keys, { by, now }));
    if (gone.size === 0) throw new AppError('conflict', { message: 'The queue moved in this moment: run it again' });
    discarded += gone.size;
  }
  await deleteFallbacksBefore(pool, { endId });
  await discardCampaigns(pool, { before: since });
  await confirmQueued(pool, { by });
  return discarded;
}

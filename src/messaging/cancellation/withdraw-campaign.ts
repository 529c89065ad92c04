import type { Db } from '../../platform/db/query.ts';
import { countCampaignChunks } from '../../network/dispatch/campaigns/sql.ts';
import { withdrawCampaignMessages } from '../../network/dispatch/withdrawals/withdraw.ts';
import { endWithdrawn } from './cancel.ts';
import { insertOpenStates } from '../expiry/sql.ts';

/** Messages a chunk at most. */
const CHUNK = 1000;

/**
 * Takes waiting messages of a campaign back, in the caller's transaction and last in it: they end DELETED and their
 * credit returns as with `cancelMessages`. Whole chunks, parked and claimed ones included, as many as `limit` messages
 * may need. Call it, each time in a new transaction, until there are no more; what a carrier answers "later" of in the
 * meantime comes back to the queue and is found by a later call.
 *
 * @returns how many there were, and whether more wait, here or with a worker that has not written them
 */
export async function withdrawCampaign(
  tx: Db,
  { accountId, campaignId, by, now }: { accountId: number; campaignId: number; by: string; now: Date },
  limit: number,
): Promise<{ withdrawn: number; more: boolean }> {
  const ids = await withdrawCampaignMessages(tx, { accountId, campaignId }, Math.ceil(limit / CHUNK));
  const keys = ids.map((id) => ({ accountId, id }));
  const { waiting, owned } = await countCampaignChunks(tx, { campaignId });
  if (keys.length > 0) {
    await insertOpenStates(tx, keys);
    await endWithdrawn(tx, keys, { by, now });
  }
  return { withdrawn: keys.length, more: waiting + owned > 0 };
}

import type { Db } from '../../platform/db/query.ts';
import { countCampaignChunks } from '../../network/dispatch/campaigns/sql.ts';
import { withdrawCampaignMessages } from '../../network/dispatch/withdrawals/withdraw.ts';
import { endWithdrawn } from './cancel.ts';
import { insertOpenStates } from '../expiry/sql.ts';

const MAX_MESSAGES_PER_CHUNK = 1000;

/**
 * Withdraws waiting messages of a campaign in the caller's transaction, as its last step: they end DELETED and their
 * credit is returned, as with `cancelMessages`. It takes whole chunks, including parked and claimed ones, as many as
 * `limit` messages may need. Call it again in a new transaction until no more wait; messages that a carrier postpones
 * in the meantime return to the queue and are found by a later call.
 *
 * @returns how many were withdrawn, how many of them ended because of it (the others had a final state), and whether
 * more wait, here or with a worker that has not submitted them
 */
export async function withdrawCampaign(
  tx: Db,
  { accountId, campaignId, by, now }: { accountId: number; campaignId: number; by: string; now: Date },
  limit: number,
): Promise<{ withdrawn: number; ended: number; more: boolean }> {
  const ids = await withdrawCampaignMessages(tx, { accountId, campaignId }, Math.ceil(limit / MAX_MESSAGES_PER_CHUNK));
  const keys = ids.map((id) => ({ accountId, id }));
  const { waiting, owned } = await countCampaignChunks(tx, { campaignId });
  const more = waiting + owned > 0;
  if (keys.length === 0) return { withdrawn: 0, ended: 0, more };
  await insertOpenStates(tx, keys);
  const ended = await endWithdrawn(tx, keys, { by, now });
  return { withdrawn: keys.length, ended: ended.size, more };
}

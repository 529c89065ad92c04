import type { Db } from '../../../platform/db/query.ts';
import { claimCampaignChunks, moveAllWithdrawn } from '../campaigns/sql.ts';
import * as db from './sql.ts';

/**
 * Takes messages back that wait in the queue, in the caller's transaction, which gives them their state. Nothing of them
 * is written to a carrier from then on: whoever wants to write must move the intent of the same row first, and learns
 * of the withdrawal by that.
 *
 * @returns the ids that waited; of the others a carrier has seen something, or an outcome is recorded already
 */
export async function withdraw(tx: Db, keys: readonly db.Key[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const chunkIds = await db.claimChunksHolding(tx, keys);
  if (chunkIds.length === 0) return new Set();
  const withdrawn = await db.moveWithdrawn(tx, { chunkIds, keys });
  await db.deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

/** The same for all that wait in the oldest `chunks` chunks of a campaign, whoever has claimed them. */
export async function withdrawAll(
  tx: Db,
  campaign: { readonly accountId: number; readonly campaignId: number },
  chunks: number,
): Promise<string[]> {
  const chunkIds = await claimCampaignChunks(tx, campaign, chunks);
  if (chunkIds.length === 0) return [];
  const withdrawn = await moveAllWithdrawn(tx, { chunkIds });
  await db.deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

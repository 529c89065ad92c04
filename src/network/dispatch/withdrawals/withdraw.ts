import type { Db } from '../../../platform/db/query.ts';
import { claimCampaignChunks, moveAllToWithdrawn } from '../campaigns/sql.ts';
import * as db from './sql.ts';

/**
 * Withdraws messages that wait in the queue, in the caller's transaction, which also sets their state. From then on
 * they are not written to a carrier: a worker must update the intent of the same row before it writes, and notices the
 * withdrawal there.
 *
 * @returns the ids of the messages that waited; the others may have reached a carrier, or have an outcome already
 */
export async function withdrawMessages(tx: Db, keys: readonly db.MessageKey[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const chunkIds = await db.claimChunksHolding(tx, keys);
  if (chunkIds.length === 0) return new Set();
  const withdrawn = await db.moveToWithdrawn(tx, { chunkIds, keys });
  await db.deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

/** Withdraws all messages that wait in the oldest `chunks` chunks of a campaign, claimed or not; returns their ids. */
export async function withdrawCampaignMessages(
  tx: Db,
  campaign: { readonly accountId: number; readonly campaignId: number },
  chunks: number,
): Promise<string[]> {
  const chunkIds = await claimCampaignChunks(tx, campaign, chunks);
  if (chunkIds.length === 0) return [];
  const withdrawn = await moveAllToWithdrawn(tx, { chunkIds });
  await db.deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

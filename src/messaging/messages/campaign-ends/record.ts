import type { Db } from '../../../platform/db/query.ts';
import { type CampaignEnds, insertCampaignEnds, listCombined } from './sql.ts';

/** A message of a campaign that reached its end. */
export type CampaignEnd = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageId: string;
  /** The code of its final state; UNKNOWN when we gave up a message that a carrier may have: nothing follows then. */
  readonly status: number;
};

/**
 * Records ends of messages for combined campaigns, in the transaction of these ends: the choice of the next channel
 * reads committed ends only. Ends of other campaigns are dropped, since nothing follows them.
 */
export async function recordCampaignEnds(tx: Db, ends: readonly CampaignEnds[]): Promise<void> {
  if (ends.length === 0) return;
  const oneOfEach = [...new Map(ends.map((end) => [end.campaignId, end])).values()];
  const combined = await listCombined(
    tx,
    oneOfEach.map(({ accountId, messageIds }) => ({ accountId, id: messageIds[0] ?? '' })),
  );
  const followed = ends.filter(({ campaignId }) => combined.has(campaignId));
  if (followed.length > 0) await insertCampaignEnds(tx, followed);
}

/**
 * `recordCampaignEnds` for messages that are all known to be of combined campaigns. The statement is sent before this
 * returns, as a `burst` needs it.
 */
export async function recordCombinedEnds(tx: Db, ends: readonly CampaignEnd[]): Promise<void> {
  if (ends.length === 0) return;
  const rows = Map.groupBy(ends, ({ campaignId }) => campaignId);
  await insertCampaignEnds(
    tx,
    [...rows].map(([campaignId, own]) => ({
      campaignId,
      accountId: own[0]?.accountId ?? 0,
      messageIds: own.map(({ messageId }) => messageId),
      statuses: own.map(({ status }) => status),
    })),
  );
}

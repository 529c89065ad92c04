import type { Db } from '../../../platform/db/query.ts';
import { insertOutcomes, listCombined, type NewOutcomes } from './sql.ts';

/** A message of a campaign that reached its end. */
export type CampaignEnd = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageId: string;
  /** The code of its state; 0 when our own timer gave up what a carrier may have: nothing follows then. */
  readonly status: number;
};

/** The same of several messages of a campaign, each with the code of its state. */
export type CampaignEnds = NewOutcomes;

/**
 * Tells combined campaigns of their messages' ends, in the transaction of these: what follows is decided from what is
 * committed. Ends of other campaigns' messages are nobody's business and leave no trace.
 */
export async function writeEnds(tx: Db, ends: readonly CampaignEnds[]): Promise<void> {
  if (ends.length === 0) return;
  const oneOfEach = [...new Map(ends.map((end) => [end.campaignId, end])).values()];
  const combined = await listCombined(tx, oneOfEach);
  const followed = ends.filter(({ campaignId }) => combined.has(campaignId));
  if (followed.length > 0) await insertOutcomes(tx, followed);
}

/** The same where all are known to be of combined campaigns. Sent before this returns, as a `burst` wants it. */
export async function writeCombined(tx: Db, ends: readonly CampaignEnd[]): Promise<void> {
  if (ends.length === 0) return;
  const rows = Map.groupBy(ends, ({ campaignId }) => campaignId);
  await insertOutcomes(
    tx,
    [...rows].map(([campaignId, own]) => ({
      campaignId,
      accountId: own[0]?.accountId ?? 0,
      messageIds: own.map(({ messageId }) => messageId),
      statuses: own.map(({ status }) => status),
    })),
  );
}

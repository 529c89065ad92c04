import type { Pool } from 'pg';
import { operatorAuthor, recordAudit } from '../../../identity/audit/record.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { wakeCampaign } from '../sql.ts';
import { moveToDiscarded } from '../run/sql.ts';

const RESTORED =
  'The database was restored, and its pending campaigns must not be sent: delete this campaign, or resume it';

/**
 * Discards the campaigns of all accounts that were confirmed before an instant: those that are being sent are
 * cancelled, those that wait for their time are paused until a person decides. Returns their number.
 */
export function discardCampaigns(
  pool: Pool,
  { before, by }: { readonly before: Date; readonly by: string },
): Promise<number> {
  return transaction(pool, async (tx) => {
    const discarded = await moveToDiscarded(tx, { before, reason: RESTORED });
    for (const { accountId, campaignId, cancelled } of discarded) {
      const action = cancelled ? 'campaign.cancel' : 'campaign.pause';
      await recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `campaign:${campaignId}` });
      await wakeCampaign(tx, { campaignId });
    }
    return discarded.length;
  });
}

import type { Pool } from 'pg';
import { operatorOf, recordAudit } from '../../../identity/audit/record.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { wakeCampaign } from '../sql.ts';
import { moveToDiscarded } from '../run/sql.ts';

const RESTORED =
  'The database was restored, and what it had waiting is not to be sent: delete this campaign, or resume it';

/**
 * Sends nothing more of what was confirmed before an instant, in all accounts: campaigns that are being sent are
 * cancelled, those that wait for their time are held until somebody decides. Answers how many they are.
 */
export function discardCampaigns(
  pool: Pool,
  { before, by }: { readonly before: Date; readonly by: string },
): Promise<number> {
  return transaction(pool, async (tx) => {
    const discarded = await moveToDiscarded(tx, { before, reason: RESTORED });
    for (const { accountId, campaignId, cancelled } of discarded) {
      const action = cancelled ? 'campaign.cancel' : 'campaign.pause';
      await recordAudit(tx, operatorOf(accountId, by), { action, subject: `campaign:${campaignId}` });
      await wakeCampaign(tx, { campaignId });
    }
    return discarded.length;
  });
}

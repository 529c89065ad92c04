import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import { settleFrozen } from '../../../money/credit/charge.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { deleteDraftOf } from '../drafts/sql.ts';
import { claimCampaign, wakeCampaign } from '../sql.ts';
import { deleteCampaign, updateJobDueNow } from './sql.ts';

/**
 * Deletes a campaign that has not started; the credit of a scheduled one is returned. If it is due to start at the same
 * time, either the deletion or the start wins: both lock the campaign first. Call it in a transaction.
 * Errors: 404, also when it has started (the specification's error table); the message then names the status.
 */
export async function removeCampaign(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const campaign = await claimCampaign(tx, one);
  if (!campaign) throw new AppError('not_found');
  if ((await deleteCampaign(tx, one)) === 0) throw notDeletable(campaign.status);
  await deleteDraftOf(tx, { accountId: actor.accountId, campaignId: id });
  const { name, reservedMicros } = campaign;
  await recordAudit(tx, actor, {
    action: 'campaign.delete',
    subject: `campaign:${id}`,
    detail: { name, reservedMicros },
  });
  if (campaign.confirmedAt === null) return;
  await updateJobDueNow(tx, one);
  await wakeCampaign(tx, { campaignId: id });
  const returned = [{ accountId: actor.accountId, micros: reservedMicros }];
  await settleFrozen(tx, { earned: [], returned, reference: `campaign:${id}` });
}

const notDeletable = (status: number): AppError =>
  new AppError('not_found', { message: `A campaign with status ${status} cannot be deleted: it has started` });

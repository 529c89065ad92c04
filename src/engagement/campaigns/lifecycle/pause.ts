import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import {
  listCampaignConnections,
  moveChunksFromParked,
  moveChunksToParked,
} from '../../../network/dispatch/campaigns/sql.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { type CampaignRow, claimCampaign, wakeCampaign } from '../sql.ts';
import { CAMPAIGN } from '../states.ts';
import { listTemplateFaults } from '../worker/template-faults.ts';
import { moveToCancelled, updateJobDueNow, moveToPaused, moveFromPaused, wakeConnections } from './sql.ts';

type Which = { readonly id: number };

/**
 * Pauses a campaign that is being sent: its waiting messages are parked, however many they are, and no more are
 * created. Messages that carriers already have are not affected. Pausing again changes nothing. Call it in a
 * transaction.
 * Errors: 400 by its status, 404.
 */
export async function pauseCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING || campaign.cancelledAt)
    throw refused('only a campaign that is being sent can be paused');
  if (campaign.pausedAt) return;
  await moveToPaused(tx, { accountId: actor.accountId, id });
  await moveChunksToParked(tx, { campaignId: id });
  await recordAndWake(tx, actor, 'campaign.pause', id);
}

/**
 * Resumes a paused campaign. If its scheduled time was missed, it is sent now. Resuming again changes nothing. Call it
 * in a transaction. Errors: 400 by its status, and when a template may not be sent, with the reason; 404.
 */
export async function resumeCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  const going = campaign.status === CAMPAIGN.SENDING && !campaign.cancelledAt;
  if (!going && !campaign.pausedAt) throw refused('only a paused campaign can be resumed');
  if (!campaign.pausedAt) return;
  const faults = await listTemplateFaults(tx, { accountId: actor.accountId, id, settings: campaign });
  if (faults.length > 0) throw invalidFields(faults.map(({ field, message }) => ({ field, message })));
  if ((await moveFromPaused(tx, { accountId: actor.accountId, id })) === 0) throw refused('the campaign has ended');
  if ((await moveChunksFromParked(tx, { campaignId: id })) > 0)
    await wakeConnections(tx, { ids: await listCampaignConnections(tx, { campaignId: id }) });
  await recordAndWake(tx, actor, 'campaign.resume', id);
}

/**
 * Cancels a campaign that is being sent: workers withdraw the messages that no carrier has yet, and their credit is
 * returned; until then they are parked. Cancelling again changes nothing. Call it in a transaction.
 * Errors: 400 by its status, 404.
 */
export async function cancelCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING)
    throw refused(
      campaign.status < CAMPAIGN.SENDING
        ? 'only a campaign that is being sent can be cancelled: delete one that has not started'
        : 'the campaign has ended',
    );
  if (campaign.cancelledAt) return;
  await moveToCancelled(tx, { accountId: actor.accountId, id });
  await moveChunksToParked(tx, { campaignId: id });
  await recordAndWake(tx, actor, 'campaign.cancel', id);
}

async function claim(tx: Db, { accountId }: Author, id: number): Promise<CampaignRow> {
  const campaign = await claimCampaign(tx, { accountId, id });
  if (!campaign) throw new AppError('not_found');
  return campaign;
}

async function recordAndWake(tx: Db, actor: Author, action: string, id: number): Promise<void> {
  await updateJobDueNow(tx, { accountId: actor.accountId, id });
  await wakeCampaign(tx, { campaignId: id });
  await recordAudit(tx, actor, { action, subject: `campaign:${id}` });
}

const refused = (message: string) => invalidFields([{ field: 'status', message }]);

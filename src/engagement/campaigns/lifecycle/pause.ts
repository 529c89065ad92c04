import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import {
  listConnectionsOf,
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
 * Holds a campaign that is being sent: what waits is parked with it, whatever its size, and nothing more is made. What
 * carriers have already stays theirs. Again changes nothing. Call it in a transaction. Errors: 400 by its status, 404.
 */
export async function pauseCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING || campaign.cancelledAt)
    throw refused('only what is being sent can be paused');
  if (campaign.pausedAt) return;
  await moveToPaused(tx, { accountId: actor.accountId, id });
  await moveChunksToParked(tx, { campaignId: id });
  await recordAndWake(tx, actor, 'campaign.pause', id);
}

/**
 * Lets a held campaign go on. One whose time was missed is sent now. Again changes nothing. Call it in a transaction.
 * Errors: 400 by its status, and when a template may not be sent, with the reason; 404.
 */
export async function resumeCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  const going = campaign.status === CAMPAIGN.SENDING && !campaign.cancelledAt;
  if (!going && !campaign.pausedAt) throw refused('only what is paused can be resumed');
  if (!campaign.pausedAt) return;
  const faults = await listTemplateFaults(tx, { accountId: actor.accountId, id, settings: campaign });
  if (faults.length > 0) throw invalidFields(faults.map(({ field, message }) => ({ field, message })));
  if ((await moveFromPaused(tx, { accountId: actor.accountId, id })) === 0) throw refused('the campaign is over');
  if ((await moveChunksFromParked(tx, { campaignId: id })) > 0)
    await wakeConnections(tx, { ids: await listConnectionsOf(tx, { campaignId: id }) });
  await recordAndWake(tx, actor, 'campaign.resume', id);
}

/**
 * Ends a campaign that is being sent: what no carrier has yet is taken back by workers, soon, and its credit returns; until
 * then it is parked. Again changes nothing. Call it in a transaction. Errors: 400 by its status, 404.
 */
export async function cancelCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING)
    throw refused(
      campaign.status < CAMPAIGN.SENDING
        ? 'only what is being sent can be cancelled: delete a campaign that has not begun'
        : 'the campaign is over',
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

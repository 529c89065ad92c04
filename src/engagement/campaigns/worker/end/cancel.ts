import { withdrawCampaign } from '../../../../messaging/cancellation/withdraw-campaign.ts';
import { moveCountriesToDone } from '../../production/sql.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import { hasPendingRecipients, updateSkippedCount } from './sql.ts';

const MESSAGES_PER_STEP = 2000;
/** The wait until workers have released the messages that they have claimed. */
const RETRY_MS = 100;

/**
 * Withdraws the waiting messages of a cancelled campaign, in batches. Recipients without a message get none. Messages
 * that a carrier already has are not affected.
 */
export async function withdrawCancelled({ tx, job, campaign }: Step): Promise<number> {
  const { accountId, campaignId } = job;
  if (await hasPendingRecipients(tx, job)) {
    await moveCountriesToDone(tx, job);
    await updateSkippedCount(tx, job);
    return 0;
  }
  const taking = { accountId, campaignId, by: 'the cancellation of its campaign', now: campaign.now };
  const { withdrawn, more } = await withdrawCampaign(tx, taking, MESSAGES_PER_STEP);
  if (withdrawn > 0) return 0;
  return more ? RETRY_MS : NOTHING_TO_DO;
}

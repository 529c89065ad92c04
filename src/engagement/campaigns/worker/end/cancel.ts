import { withdrawCampaign } from '../../../../messaging/cancellation/withdraw-campaign.ts';
import { isCombined } from '../../mode.ts';
import { moveCountriesToDone } from '../../production/sql.ts';
import { updateRunCounters } from '../../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import { hasPendingRecipients, updateSkippedCount, updateUnmadeCount } from './sql.ts';

const MESSAGES_PER_STEP = 2000;
/** The wait until workers have released the messages that they have claimed. */
const RETRY_MS = 100;

/**
 * Withdraws the waiting messages of a campaign that sends nothing more, in batches. Messages that a carrier already has
 * are not affected.
 */
export async function withdrawMessages({ tx, job, campaign }: Step): Promise<number> {
  const taking = { ...job, by: 'the cancellation of its campaign', now: campaign.now };
  const { withdrawn, ended, more } = await withdrawCampaign(tx, taking, MESSAGES_PER_STEP);
  // In combined modes their recipients are counted with the ends of the messages (fallback/outcomes.ts).
  if (ended > 0 && !isCombined(campaign.sendingMode)) await updateRunCounters(tx, job, { withdrawn: ended });
  if (withdrawn > 0) return 0;
  return more ? RETRY_MS : NOTHING_TO_DO;
}

/**
 * Closes the recipients without a message, once all recipients of a campaign that sends nothing more are created: they
 * count as cancelled, or as skipped if the account was suspended. Their cost need not stay reserved.
 */
export async function closeRecipients({ tx, job, campaign }: Step): Promise<number> {
  if (!campaign.expanded || !(await hasPendingRecipients(tx, job))) return NOTHING_TO_DO;
  await moveCountriesToDone(tx, job);
  await (campaign.cancelled ? updateUnmadeCount : updateSkippedCount)(tx, job);
  const { unusedMicros } = campaign;
  if (isCombined(campaign.sendingMode))
    await updateRunCounters(tx, job, { unusedMicros: -unusedMicros, spareMicros: unusedMicros });
  return 0;
}

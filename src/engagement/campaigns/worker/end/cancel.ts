import { withdrawCampaign } from '../../../../messaging/cancellation/withdraw-campaign.ts';
import { moveLanesToDone } from '../../production/sql.ts';
import { NOTHING, type Step } from '../../run/step.ts';
import { hasUnfed, moveUnfedToSkipped } from './sql.ts';

const MESSAGES_A_STEP = 2000;
/** Until workers have let go of what they hold. */
const HELD_MS = 100;

/**
 * Takes back what waits of a cancelled campaign, in batches; whoever has no message yet gets none. What a carrier has
 * already goes its way.
 */
export async function cancel({ tx, job, campaign }: Step): Promise<number> {
  const { accountId, campaignId } = job;
  if (await hasUnfed(tx, job)) {
    await moveLanesToDone(tx, job);
    await moveUnfedToSkipped(tx, job);
    return 0;
  }
  const taking = { accountId, campaignId, by: 'the cancellation of its campaign', now: campaign.now };
  const { withdrawn, more } = await withdrawCampaign(tx, taking, MESSAGES_A_STEP);
  if (withdrawn > 0) return 0;
  return more ? HELD_MS : NOTHING;
}

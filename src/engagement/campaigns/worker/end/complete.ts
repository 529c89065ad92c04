import { settleFrozen } from '../../../../money/credit/charge.ts';
import { isCombined } from '../../mode.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import * as run from '../../run/sql.ts';
import * as db from './sql.ts';
import { MINUTE_MS } from '../../../../platform/lib/time.ts';

/** How often receipts are checked: often at first, and less often the longer ago the last messages were created. */
const MIN_POLL_MS = 500;
const MAX_POLL_MS = MINUTE_MS;
const POLL_SHARE = 1 / 10;

const NOTHING_SENT = 'Nothing could be sent';
export const SUSPENDED = 'The account is suspended';

/**
 * Ends a campaign when every recipient has a final result: by the hourly figures in single modes, by the counted
 * results in combined modes, where a recipient may have several messages. The part of the reserve that is not needed is
 * returned.
 */
export async function complete({ tx, job, campaign }: Step): Promise<number> {
  if (await db.hasPendingRecipients(tx, job)) return NOTHING_TO_DO;
  const traffic = await run.findTraffic(tx, job);
  const sent = campaign.recipients - campaign.skipped;
  const over = isCombined(campaign.sendingMode) ? campaign.ended >= sent : traffic.final >= campaign.messages;
  if (!over) return nextPollMs(tx, job);
  await run.moveToEnded(tx, job, { reason: await failureOf({ tx, job, campaign }, traffic) });
  const late = isCombined(campaign.sendingMode) ? campaign.lateMicros : 0;
  await returnReserve({ tx, job, campaign }, unneededMicros(campaign, traffic) - late);
  return deleteJobWhenFinal({ tx, job, campaign }, traffic);
}

/** The part of the reserve that a campaign without open messages does not need. */
const unneededMicros = (campaign: run.RunningCampaign, { costMicros }: run.Traffic): number =>
  isCombined(campaign.sendingMode) ? campaign.reservedMicros - costMicros : campaign.unusedMicros;

type StepScope = Pick<Step, 'tx' | 'job' | 'campaign'>;

const nextPollMs = async (tx: Step['tx'], job: run.Job): Promise<number> =>
  Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, (await db.findMsSinceLastBatch(tx, job)) * POLL_SHARE));

/**
 * Returns why a campaign failed: nothing of it was submitted to a carrier. Null when it did not fail; a campaign that a
 * person has cancelled did not.
 */
async function failureOf({ tx, job, campaign }: StepScope, { delivered }: run.Traffic): Promise<string | null> {
  if (campaign.cancelled || delivered > 0 || (await db.wasSubmitted(tx, job))) return null;
  if (campaign.suspended) return SUSPENDED;
  const obstacle = await db.findObstacle(tx, job);
  return obstacle === null ? NOTHING_SENT : `${NOTHING_SENT}: ${obstacle}`;
}

async function returnReserve({ tx, job, campaign }: StepScope, micros: number): Promise<void> {
  if (micros <= 0) return;
  await run.updateReserve(tx, job, { returnedMicros: micros });
  campaign.reservedMicros -= micros;
  const { accountId } = campaign;
  await settleFrozen(tx, { earned: [], returned: [{ accountId, micros }], reference: `campaign:${campaign.id}` });
}

/**
 * After its end, a combined campaign keeps what messages may still cost that another channel has overtaken. When all of
 * them are final, this returns the rest of the reserve, and nothing is left to do.
 */
export async function returnLateReserve({ tx, job, campaign }: Step): Promise<number> {
  const traffic = await run.findTraffic(tx, job);
  if (traffic.final < campaign.messages) return nextPollMs(tx, job);
  await returnReserve({ tx, job, campaign }, unneededMicros(campaign, traffic));
  return deleteJobWhenFinal({ tx, job, campaign }, traffic);
}

async function deleteJobWhenFinal({ tx, job, campaign }: StepScope, { final }: run.Traffic): Promise<number> {
  if (final < campaign.messages) return nextPollMs(tx, job);
  await run.deleteJob(tx, job);
  return NOTHING_TO_DO;
}

import { isCombined } from '../../mode.ts';
import { freezeMore, returnReserve } from '../../run/reserve.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import * as run from '../../run/sql.ts';
import * as db from './sql.ts';
import { MINUTE_MS } from '../../../../platform/lib/time.ts';

/**
 * Interval at which receipts are checked: often at first, and less often the longer ago the last messages were created.
 */
const MIN_POLL_MS = 500;
const MAX_POLL_MS = MINUTE_MS;
const POLL_SHARE = 1 / 10;

const NOTHING_SENT = 'Nothing could be sent';
export const SUSPENDED = 'The account is suspended';

/**
 * Ends a campaign when every recipient has a final result: by the hourly figures in single modes, by the counted
 * results in combined modes, in which a recipient may have several messages. The part of the reserve that is not needed
 * is returned; the prices of messages that may still be delivered stay reserved.
 */
export async function complete({ tx, job, campaign }: Step): Promise<number> {
  if (await db.hasPendingRecipients(tx, job)) return NOTHING_TO_DO;
  const traffic = await run.findTraffic(tx, job);
  const sent = campaign.recipients - campaign.skipped - campaign.unmade;
  const over = isCombined(campaign.sendingMode) ? campaign.ended >= sent : traffic.final >= campaign.messages;
  if (!over) return nextPollMs(tx, job);
  await run.moveToEnded(tx, job, { reason: await failureOf({ tx, job, campaign }, traffic) });
  const unneededMicros = campaign.unusedMicros + campaign.spareMicros;
  await run.updateRunCounters(tx, job, { unusedMicros: -campaign.unusedMicros, spareMicros: campaign.unusedMicros });
  if (unneededMicros > 0) await returnReserve({ tx, job, campaign }, unneededMicros, 0);
  return 0;
}

type StepScope = Pick<Step, 'tx' | 'job' | 'campaign'>;

const nextPollMs = async (tx: Step['tx'], job: run.Job): Promise<number> =>
  Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, (await db.findMsSinceLastBatch(tx, job)) * POLL_SHARE));

/**
 * Returns the reason why a campaign failed: nothing of it was submitted to a carrier. Null when it did not fail; a
 * campaign that a person has cancelled did not.
 */
async function failureOf({ tx, job, campaign }: StepScope, { delivered }: run.Traffic): Promise<string | null> {
  if (campaign.cancelled || delivered > 0 || (await db.wasSubmitted(tx, job))) return null;
  if (campaign.suspended) return SUSPENDED;
  const obstacle = await db.findObstacle(tx, job);
  return obstacle === null ? NOTHING_SENT : `${NOTHING_SENT}: ${obstacle}`;
}

/**
 * Waits, after the end of a campaign, until all its messages are final. Then a combined campaign settles the rest of
 * its reserve, and nothing is left to do.
 */
export async function finish({ tx, job, campaign }: Step): Promise<number> {
  const traffic = await run.findTraffic(tx, job);
  if (traffic.final < campaign.messages) return nextPollMs(tx, job);
  if (isCombined(campaign.sendingMode) && !(await settleRest({ tx, job, campaign }, traffic))) return MAX_POLL_MS;
  await run.deleteJob(tx, job);
  return NOTHING_TO_DO;
}

/**
 * Returns the rest of the reserve of a combined campaign without open messages. If its messages have cost more, as
 * those delivered after their time can, the difference is frozen, so that the books of the account agree. Returns false
 * if the account does not have that credit yet.
 */
async function settleRest({ tx, job, campaign }: StepScope, { costMicros }: run.Traffic): Promise<boolean> {
  const restMicros = campaign.reservedMicros - costMicros;
  if (restMicros > 0) await returnReserve({ tx, job, campaign }, restMicros, 0);
  if (restMicros >= 0) return true;
  const addedMicros = await freezeMore({ tx, campaign }, -restMicros);
  await run.updateReserve(tx, job, { addedMicros, spareMicros: 0 });
  return addedMicros === -restMicros;
}

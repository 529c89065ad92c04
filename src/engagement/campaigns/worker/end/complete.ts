import { settleCharges } from '../../../../money/credit/charge.ts';
import { isCombined } from '../../mode.ts';
import { NOTHING, type Step } from '../../run/step.ts';
import * as run from '../../run/sql.ts';
import * as db from './sql.ts';

/** Waits for receipts: often at first, rarely once they have been silent for long. */
const LOOK_LEAST_MS = 500;
const LOOK_MOST_MS = 60_000;
const LOOK_SHARE = 1 / 10;

const NOTHING_SENT = 'Nothing could be sent';
export const SUSPENDED = 'The account is suspended';

/**
 * Ends a campaign when every recipient has an end: by the roll-ups where each has one message, by the ends that were
 * counted where one may have several. What it does not need of its reserve goes back.
 */
export async function complete({ tx, job, campaign }: Step): Promise<number> {
  if (await db.hasUnfed(tx, job)) return NOTHING;
  const traffic = await run.findTraffic(tx, job);
  const sent = campaign.recipients - campaign.skipped;
  const over = isCombined(campaign.sendingMode) ? campaign.ended >= sent : traffic.final >= campaign.messages;
  if (!over) return look(tx, job);
  await run.moveToEnded(tx, job, { reason: await failureOf({ tx, job, campaign }, traffic) });
  const late = isCombined(campaign.sendingMode) ? campaign.lateMicros : 0;
  await giveBack({ tx, job, campaign }, spare(campaign, traffic) - late);
  return settle({ tx, job, campaign }, traffic);
}

/** What is left of the reserve of a campaign without open messages. */
const spare = (campaign: run.Running, { costMicros }: run.Traffic): number =>
  isCombined(campaign.sendingMode) ? campaign.reservedMicros - costMicros : campaign.unusedMicros;

type Ending = Pick<Step, 'tx' | 'job' | 'campaign'>;

const look = async (tx: Step['tx'], job: run.Job): Promise<number> =>
  Math.min(LOOK_MOST_MS, Math.max(LOOK_LEAST_MS, (await db.findRestMs(tx, job)) * LOOK_SHARE));

/** Null unless no carrier has had anything of it. A campaign that a person has cancelled has not failed. */
async function failureOf({ tx, job, campaign }: Ending, { delivered }: run.Traffic): Promise<string | null> {
  if (campaign.cancelled || delivered > 0 || (await db.wasSubmitted(tx, job))) return null;
  if (campaign.suspended) return SUSPENDED;
  const obstacle = await db.findObstacle(tx, job);
  return obstacle === null ? NOTHING_SENT : `${NOTHING_SENT}: ${obstacle}`;
}

async function giveBack({ tx, job, campaign }: Ending, micros: number): Promise<void> {
  if (micros <= 0) return;
  await run.moveReserve(tx, job, { returnedMicros: micros });
  campaign.reservedMicros -= micros;
  const { accountId } = campaign;
  await settleCharges(tx, { earned: [], returned: [{ accountId, micros }], reference: `campaign:${campaign.id}` });
}

/**
 * After its end a combined campaign keeps what messages may still cost that another channel has overtaken; when all of
 * them have an end, that goes back too, and nothing is left to do.
 */
export async function settleLate({ tx, job, campaign }: Step): Promise<number> {
  const traffic = await run.findTraffic(tx, job);
  if (traffic.final < campaign.messages) return look(tx, job);
  await giveBack({ tx, job, campaign }, spare(campaign, traffic));
  return settle({ tx, job, campaign }, traffic);
}

async function settle({ tx, job, campaign }: Ending, { final }: run.Traffic): Promise<number> {
  if (final < campaign.messages) return look(tx, job);
  await run.deleteJob(tx, job);
  return NOTHING;
}

import { isCombined } from '../mode.ts';
import { updateRunCounters } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { type Choice, createChooser, type Obstacle } from './choose.ts';
import { createMessages } from './create-messages.ts';
import { quietMs } from './quiet-hours.ts';
import { findCapacity, type Capacity } from './capacity.ts';
import * as db from './sql.ts';
import { loadTexts } from './texts.ts';

/** A step takes some 50 ms by that, short enough for whoever wants to pause the campaign; more would be garbage for longer. */
const MESSAGES_PER_STEP = 2000;
/** While the queue is full, or the campaign has had its rate of this second. */
const FULL_MS = 150;
/** Settings of the account may change while a campaign waits for the morning. */
const QUIET_POLL_MS = 10 * 60_000;

/**
 * Makes messages for the next recipients, country by country, as long as few enough wait in the queue. What was made and
 * how far that was are one transaction, so that a crash neither skips nor repeats anybody.
 */
export async function produceMessages(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  const lanes = await db.listOpenLanes(tx, job);
  if (lanes.length === 0) return NOTHING_TO_DO;
  const waits = lanes.map(({ country }) => quietMs(campaign.quietHours, country, campaign.now));
  const awake = lanes.filter((_, i) => waits[i] === 0);
  if (awake.length === 0) return Math.min(QUIET_POLL_MS, ...waits);
  const room = await findCapacity(step, MESSAGES_PER_STEP);
  if (room.left() <= 0 || room.largest() === 0) return FULL_MS;
  const tools = { texts: await loadTexts(step), choose: createChooser(step), room };
  let went = 0;
  for (const lane of awake) if (room.left() > 0 && room.largest() > 0) went += await produceForLane(step, lane, tools);
  return went > 0 ? 0 : FULL_MS;
}

type Tools = {
  readonly texts: db.Texts;
  readonly choose: (candidate: db.Candidate) => Choice | Obstacle;
  readonly room: Capacity;
};

/** Answers how many recipients it went past, and one more when it has closed the lane. */
async function produceForLane({ tx, job, campaign, ...step }: Step, lane: db.Lane, tools: Tools): Promise<number> {
  const limit = Math.min(tools.room.left(), tools.room.largest());
  const { accountId } = campaign;
  const source = db.nextRecipientsSql(job, lane, limit);
  const candidates = await db.listCandidates(tx, { accountId, texts: tools.texts, source });
  const { choices, passed, last } = chooseMessages(candidates, tools);
  const done = campaign.expanded && candidates.length < limit && choices.length + passed.length === candidates.length;
  if (last === null && !done) return 0;
  await createMessages({ tx, job, campaign, ...step }, 0, choices);
  for (const [reason, own] of Map.groupBy(passed, (one) => one.reason))
    await db.moveRecipientsToSkipped(tx, job, {
      country: lane.country,
      reason,
      destinations: own.map((one) => one.destination),
    });
  const [single, messages] = [!isCombined(campaign.sendingMode), choices.length];
  const usedMicros = choices.reduce((sum, choice) => sum + (single ? choice.priceMicros : choice.reserveMicros), 0);
  await updateRunCounters(tx, job, { messages, unusedMicros: -usedMicros, skipped: passed.length });
  await db.updateLane(tx, job, { country: lane.country, fedTo: last ?? lane.fedTo, done });
  return candidates.length + (done ? 1 : 0);
}

/** Up to the first one for whom there is no room at his connection. */
function chooseMessages(candidates: readonly db.Candidate[], { choose, room }: Tools) {
  const choices: Choice[] = [];
  const passed: { destination: string; reason: Obstacle }[] = [];
  let last: string | null = null;
  for (const candidate of candidates) {
    const [, , destination] = candidate;
    const choice = choose(candidate);
    if (typeof choice === 'string') passed.push({ destination, reason: choice });
    else if (room.take(choice.connectionIds[0] ?? 0)) choices.push(choice);
    else break;
    last = destination;
  }
  return { choices, passed, last };
}

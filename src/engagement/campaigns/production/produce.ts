import { isCombined } from '../mode.ts';
import { updateRunCounters } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { type Choice, type Choose, createChooser, findKnownOf, type Obstacle } from './choose.ts';
import { createMessages } from './create-messages.ts';
import { quietMs } from './quiet-hours.ts';
import { findCapacity, type Capacity } from './capacity.ts';
import * as db from './sql.ts';
import { loadTexts } from './texts.ts';
import { pieceOf } from '../../../platform/lib/background/give-way.ts';
import { nextTurn } from '../../../platform/lib/background/slices.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

/**
 * Number of messages per step, which then takes some 50 ms, so that a pause takes effect quickly; more messages would
 * keep memory for longer.
 */
const MESSAGES_PER_STEP = 2000;
const CHOICES_PER_TURN = 500;
/** The wait while the queue is full, or the campaign has used up its rate for this second. */
const FULL_MS = 150;
/** The longest wait during quiet hours: the settings of the account may change in the meantime. */
const QUIET_POLL_MS = 10 * MINUTE_MS;

/**
 * Creates messages for the next recipients, country by country, as long as there is room in the queue. The messages and
 * the progress are one transaction, so that a crash neither skips nor repeats a recipient.
 */
export async function produceMessages(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  const lanes = await db.listOpenCountries(tx, job);
  if (lanes.length === 0) return NOTHING_TO_DO;
  const waits = lanes.map(({ country }) => quietMs(campaign.quietHours, country, campaign.now));
  const awake = lanes.filter((_, i) => waits[i] === 0);
  if (awake.length === 0) return Math.min(QUIET_POLL_MS, ...waits);
  const capacity = await findCapacity(step, pieceOf(MESSAGES_PER_STEP));
  const isFull = (): boolean => capacity.left() <= 0 || capacity.largest() === 0;
  if (isFull()) return FULL_MS;
  const tools = { texts: await loadTexts(step), choose: createChooser(step), capacity };
  let done = 0;
  for (const lane of awake) if (!isFull()) done += await produceForCountry(step, lane, tools);
  return done > 0 ? 0 : FULL_MS;
}

type Tools = {
  readonly texts: db.Texts;
  readonly choose: Choose;
  readonly capacity: Capacity;
};

/** Returns the number of recipients that were read, plus one when the lane was closed. */
async function produceForCountry(
  { tx, job, campaign, ...step }: Step,
  lane: db.CountryProgress,
  tools: Tools,
): Promise<number> {
  const limit = Math.min(tools.capacity.left(), tools.capacity.largest());
  const { accountId } = campaign;
  const source = db.nextRecipientsSql(job, lane, limit);
  const candidates = await db.listCandidates(tx, { accountId, texts: tools.texts, source });
  const known = await findKnownOf({ tx, job, campaign, ...step }, candidates);
  const choose = (candidate: db.Candidate) => tools.choose(candidate, known);
  const { choices, skipped, last } = await chooseMessages(candidates, { choose, capacity: tools.capacity });
  const done = campaign.expanded && candidates.length < limit && choices.length + skipped.length === candidates.length;
  if (last === null && !done) return 0;
  await createMessages({ tx, job, campaign, ...step }, 0, choices);
  for (const [reason, own] of Map.groupBy(skipped, (one) => one.reason))
    await db.moveRecipientsToSkipped(tx, job, {
      country: lane.country,
      reason,
      destinations: own.map((one) => one.destination),
    });
  const combined = isCombined(campaign.sendingMode);
  const counts = { messages: choices.length, skipped: skipped.length };
  await updateRunCounters(tx, job, { ...counts, ...(combined ? sharesOf(choices, skipped) : costOf(choices)) });
  await db.updateCountryProgress(tx, job, { country: lane.country, fedTo: last ?? lane.fedTo, done });
  return candidates.length + (done ? 1 : 0);
}

/** Returns the amounts that messages of a single mode take from the reserve. */
const costOf = (choices: readonly Choice[]) => ({
  unusedMicros: -choices.reduce((sum, { priceMicros }) => sum + priceMicros, 0),
});

/**
 * Returns the amounts that recipients of a combined mode take from the reserve, and the part of them that can no longer
 * be spent.
 */
function sharesOf(choices: readonly Choice[], skipped: readonly Skipped[]) {
  const allotted = [...choices, ...skipped].reduce((sum, { reserveMicros }) => sum + reserveMicros, 0);
  const needed = choices.reduce((sum, { maxMicros }) => sum + maxMicros, 0);
  return { unusedMicros: -allotted, spareMicros: allotted - needed };
}

type Choosing = {
  readonly choose: (candidate: db.Candidate) => Choice | Obstacle;
  readonly capacity: Capacity;
};

type Skipped = { readonly destination: string; readonly reserveMicros: number; readonly reason: Obstacle };

/**
 * Chooses a message or an obstacle for each candidate, up to the first one whose connection has no room. This takes
 * some 2 µs a candidate, so it is done in turns of the event loop.
 */
async function chooseMessages(candidates: readonly db.Candidate[], { choose, capacity }: Choosing) {
  const choices: Choice[] = [];
  const skipped: Skipped[] = [];
  let last: string | null = null;
  for (const [i, candidate] of candidates.entries()) {
    if (i % CHOICES_PER_TURN === 0) await nextTurn();
    const { destination, reserveMicros } = candidate;
    const choice = choose(candidate);
    if (typeof choice === 'string') skipped.push({ destination, reserveMicros, reason: choice });
    else if (capacity.take(choice.connectionIds[0] ?? 0)) choices.push(choice);
    else break;
    last = destination;
  }
  return { choices, skipped, last };
}

import { recordLastContacts } from '../contacts/contacts.ts';
import { bulkSize, nextTurn } from '../core/background.ts';
import { bitOf, type Channel } from '../core/channels.ts';
import { newId } from '../core/ids.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { insertChunks } from '../dispatch/store.ts';
import { publishAccepted } from '../messages/events.ts';
import { insertMessages, type NewMessage, newMessage, type Queued } from '../messages/new-messages.ts';
import { followRule } from '../messages/next-channel.ts';
import { takeWithinCap } from '../messages/weekly-cap.ts';
import { chainOf, isCombined } from './audience.ts';
import { type Choice, type Choose, createChooser, findKnownOf, type Obstacle } from './choose.ts';
import { purposeOfCampaign } from '../messages/billing.ts';
import { firstWaitOf, placeOfRecipient } from './hours.ts';
import * as db from './production-store.ts';
import {
  countRecentRecipients,
  insertBatches,
  listQueueDepths,
  loadTexts,
  type NewBatch,
  type QueueDepth,
} from './production-store.ts';
import { NOTHING_TO_DO, type RunningCampaign, type Step, updateRunCounters } from './run.ts';

/**
 * Number of messages per step, which then takes some 50 ms, so that a pause takes effect quickly; more messages would
 * keep memory for longer.
 */
const MESSAGES_PER_STEP = 2000;
const CHOICES_PER_TURN = 500;
/** The wait while the queue is full, or the campaign has used up its rate for this second. */
const FULL_MS = 150;
/** The wait while the messaging limit of a portfolio is used up: people stop counting one by one. */
const PEOPLE_WAIT_MS = 30 * SECOND_MS;
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
  const starts = lanes.map((lane) => ({ lane, wait: firstWaitOf(lane, campaign, campaign.now) }));
  const awake = starts.flatMap(({ lane, wait }) => (wait === null || wait === 'skip' ? [{ lane, wait }] : []));
  if (awake.length === 0) return Math.min(QUIET_POLL_MS, ...starts.map(({ wait }) => waitMs(wait, campaign.now)));
  const capacity = await findCapacity(step, bulkSize(MESSAGES_PER_STEP));
  const isFull = (): boolean => capacity.left() <= 0 || capacity.largest() === 0;
  if (isFull()) return capacity.waitMs();
  const tools = { texts: await loadTexts(step), choose: createChooser(step), capacity };
  let done = 0;
  for (const { lane, wait } of awake) {
    // The rows of a cap are locked in the order of the persons, which is kept within a lane.
    if (isFull() || (done > 0 && campaign.weeklyCap !== null)) break;
    const choose: Choose = wait === 'skip' ? () => 'time_passed' : tools.choose;
    done += await produceForCountry(step, lane, { ...tools, choose });
  }
  return done > 0 ? 0 : capacity.waitMs();
}

const waitMs = (wait: ReturnType<typeof firstWaitOf>, now: Date): number =>
  wait === null || wait === 'skip' ? 0 : wait.until.getTime() - now.getTime();

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
  const chosen = await chooseMessages(candidates, { choose, capacity: tools.capacity });
  const { choices, skipped } = await withinCap({ tx, campaign }, chosen);
  const { last } = chosen;
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
  await db.updateCountryProgress(tx, job, { country: lane.country, area: lane.area, fedTo: last ?? lane.fedTo, done });
  return candidates.length + (done ? 1 : 0);
}

/** Skips those who have had as many marketing messages in seven days as they may. */
async function withinCap(
  { tx, campaign }: Pick<Step, 'tx' | 'campaign'>,
  { choices, skipped }: Chosen,
): Promise<Chosen> {
  const { accountId, weeklyCap: cap } = campaign;
  if (cap === null || choices.length === 0 || purposeOfCampaign(campaign) !== 'marketing') return { choices, skipped };
  const wanted = choices.map((choice) => ({ ...choice, accountId, cap }));
  const taken = await takeWithinCap(tx, wanted);
  const over = wanted.flatMap((one): Skipped[] => {
    const { destination, reserveMicros } = one;
    return taken.has(one) ? [] : [{ destination, reserveMicros, reason: 'weekly_cap' }];
  });
  return {
    choices: choices.filter((_, i) => taken.has(wanted[i] as (typeof wanted)[number])),
    skipped: [...skipped, ...over],
  };
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

type Chosen = { readonly choices: Choice[]; readonly skipped: Skipped[] };
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

/** Messages per batch, and per chunk of the queue. */
const MESSAGES_PER_BATCH = 1000;
/** Few enough that encoding them yields the event loop to single sends after a millisecond. */
const MESSAGES_PER_STATEMENT = 500;
/** The priority in the queue: after single sends and bulk requests. */
const CAMPAIGN_PRIORITY = 2;

type CreatedMessage = Choice & { readonly id: string };

/**
 * Creates the messages of a fallback (0: the first channel): their rows, their queue entries, and the batches by which they
 * are found. Everything is written in the step's transaction. Returns the messages in the order of `choices`, which is
 * also the order of their ids.
 */
export async function createMessages(
  step: Step,
  fallbackNumber: number,
  choices: readonly Choice[],
): Promise<CreatedMessage[]> {
  if (choices.length === 0) return [];
  const { tx, job, campaign } = step;
  const ids = choices.map(newId).sort();
  const made = choices.map((choice, i) => ({ ...choice, id: ids[i] ?? '' }));
  const messages = made.map((choice) => toNewMessage(campaign, choice));
  const queued = toQueued(campaign, made, messages);
  step.queued.push(...queued);
  // Each waits for the one before: encoding all of them at once would hold the event loop.
  const isTold = step.tables.takesAccepted?.(campaign.accountId) ?? false;
  for (const slice of slices(messages, MESSAGES_PER_STATEMENT)) {
    await insertMessages(tx, slice);
    if (isTold) await publishAccepted(tx, slice);
  }
  await Promise.all([
    insertChunks(
      tx,
      queued.map(({ chunk }) => chunk),
    ),
    insertBatches(tx, job, toBatches(campaign, fallbackNumber, made)),
    recordLastContacts(
      tx,
      made.flatMap((choice) => toLastContact(campaign, choice)),
    ),
  ]);
  return made;
}

function slices<T>(items: readonly T[], size = MESSAGES_PER_BATCH): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

const toNewMessage = (campaign: RunningCampaign, made: CreatedMessage): NewMessage =>
  newMessage({
    accountId: campaign.accountId,
    id: made.id,
    channel: made.channel,
    source: 'CAMPAIGN',
    connectionId: made.connectionIds[0] ?? null,
    routeReason: made.routeReason,
    sender: made.sender,
    askedSender: made.askedSender,
    destination: made.destination,
    body: made.body,
    content: made.content,
    tlvs: made.tlvs,
    parts: made.parts,
    priceMicros: made.priceMicros,
    refundUndelivered: made.refundUndelivered,
    priceCategory: made.channel === 'WHATSAPP' ? campaign.pricedCategory : null,
    purpose: purposeOfCampaign(campaign),
    clientData: null,
    apiKeyId: campaign.apiKeyId,
    userId: campaign.apiKeyId === null ? campaign.userId : null,
    campaignId: campaign.id,
    keepsReserve: isCombined(campaign.sendingMode),
  });

/** Puts messages into chunks, each of which has one route. */
function toQueued(
  { accountId, id }: RunningCampaign,
  made: readonly CreatedMessage[],
  messages: readonly NewMessage[],
): Queued[] {
  const byRoute = Map.groupBy(messages, (_, i) => made[i]?.connectionIds.join() ?? '');
  return [...byRoute].flatMap(([route, own]) => {
    const [connectionId = 0, ...alternates] = route.split(',').map(Number);
    return slices(own).map((slice) => ({
      chunk: {
        accountId,
        connectionId,
        alternates,
        priority: CAMPAIGN_PRIORITY,
        availableAt: null,
        campaignId: id,
        ids: slice.map((message) => message.id),
      },
      messages: slice,
    }));
  });
}

function toBatches(campaign: RunningCampaign, fallbackNumber: number, made: readonly CreatedMessage[]): NewBatch[] {
  const alike = Map.groupBy(
    made,
    ({ country, channel, destination }) => `${channel}/${country}/${placeOfRecipient(country, destination).area}`,
  );
  return [...alike.values()].flatMap((own) => slices(own).map((slice) => toBatch(campaign, fallbackNumber, slice)));
}

function toBatch(campaign: RunningCampaign, fallbackNumber: number, slice: readonly CreatedMessage[]): NewBatch {
  const [{ channel, country }] = slice as [CreatedMessage];
  const destinations = slice.map((message) => message.destination).sort();
  return {
    fallbackNumber,
    channel: bitOf(channel),
    country,
    firstDestination: destinations[0] ?? '',
    lastDestination: destinations.at(-1) ?? '',
    messageIds: slice.map((message) => message.id),
    dueAt: fallbackDueAt(campaign, channel),
  };
}

/**
 * Returns the earliest instant at which recipients may have to be tried on the next channel, even if a carrier takes
 * their messages immediately; null after the last channel.
 */
function fallbackDueAt({ sendingMode, fallback, now }: RunningCampaign, channel: Channel): Date | null {
  if (chainOf(sendingMode).at(-1) === channel) return null;
  const { afterSeconds, maxWaitSeconds } = followRule(fallback, channel);
  return new Date(now.getTime() + Math.min(afterSeconds, maxWaitSeconds ?? afterSeconds) * SECOND_MS);
}

const toLastContact = ({ accountId, now, sendingMode }: RunningCampaign, { contactId, channel }: CreatedMessage) =>
  contactId === null ? [] : [{ accountId, contactId, channel, at: now, campaignType: sendingMode }];

/**
 * Number of messages of a campaign that may wait at a connection: as many as the fastest connection sends in a second.
 */
const MAX_WAITING = 20_000;
/**
 * Seconds' worth of messages that may wait at a connection with a rate: a pause or cancellation withdraws no more.
 */
const MAX_WAITING_SECONDS = 3;
/**
 * Messages are created only when this many slots, or a quarter of all, are free: so they are created by the hundred.
 */
const MIN_FREE_PLACES = 1000;

/** Number of further messages that may be created. */
type Capacity = {
  /** Messages that may be created in this step, at all connections together. */
  left(): number;
  /** The free slots of the connection that has most of them. */
  largest(): number;
  /** Takes a slot at a connection; returns false when it has none. */
  take(connectionId: number): boolean;
  /** Returns how long to wait when nothing can be created. */
  waitMs(): number;
};

/**
 * Finds the number of messages of a campaign that may be created in this step: at most `max`, and within its own rate.
 */
async function findCapacity({ tx, job, campaign }: Step, max: number): Promise<Capacity> {
  const waiting = await listQueueDepths(tx, job);
  const free = new Map(waiting.map((connection) => [connection.connectionId, freePlaces(connection)]));
  const exhausted = new Set(waiting.flatMap((one) => (hasPeopleLeft(one) ? [] : [one.connectionId])));
  let isExhausted = false;
  let left = campaign.rate === null ? max : Math.min(max, campaign.rate - (await countRecentRecipients(tx, job)));
  const largest = (): number => Math.max(0, ...free.values());
  return {
    left: () => left,
    largest,
    take(connectionId) {
      const places = free.get(connectionId) ?? 0;
      if (places <= 0 && exhausted.has(connectionId)) isExhausted = true;
      if (places <= 0 || left <= 0) return false;
      free.set(connectionId, places - 1);
      left--;
      return true;
    },
    waitMs: () => (isExhausted || (largest() === 0 && exhausted.size > 0) ? PEOPLE_WAIT_MS : FULL_MS),
  };
}

/** Messages that wait will use up the limit before those that are created now. */
const hasPeopleLeft = ({ peopleLeft, waiting }: QueueDepth): boolean => peopleLeft === null || peopleLeft > waiting;

function freePlaces({ tps, waiting, peopleLeft }: QueueDepth): number {
  const max = tps ? Math.min(MAX_WAITING, Math.max(1, Math.ceil(tps * MAX_WAITING_SECONDS))) : MAX_WAITING;
  const free = max - waiting;
  const places = free >= Math.min(MIN_FREE_PLACES, max / 4) ? free : 0;
  return peopleLeft === null ? places : Math.max(0, Math.min(places, peopleLeft - waiting));
}

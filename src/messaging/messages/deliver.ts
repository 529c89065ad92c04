import { type CampaignEnd, recordCombinedEnds } from './campaign-ends/record.ts';
import { type Charge, settleCharges } from '../../money/credit/charge.ts';
import type { Db } from '../../platform/db/query.ts';
import type { News, Result } from '../../network/dispatch/pump.ts';
import { type TrafficDelta, countTraffic } from '../traffic/count.ts';
import { deleteUnknowns, insertNameless, insertUnknowns } from './unknown/sql.ts';
import { type EventDetails, insertEvents, type NewEvent } from './events/sql.ts';
import { figureOfOutcome, type Settlement, type Traits } from './figures.ts';
import { type Key, updateFallbacksDueNow } from './fallback/sql.ts';
import { insertParts, type NewPart } from './parts/sql.ts';
import { STATUS } from '../states.ts';
import { publishOutcomes } from './publish-events.ts';
import * as db from './sql.ts';

/**
 * The dispatcher's `settle`: records outcomes in its transaction. Answers for which messages this was news.
 *
 * First outcomes are plainly inserted, at half the cost of an upsert; that fails when one is recorded already. With
 * `again` such outcomes stay as they are, so a commit whose answer was lost may be repeated.
 */
export async function settleOutcomes(tx: Db, results: readonly Result[], again: boolean): Promise<News> {
  if (again || results.some((result) => result.attempt > 1)) return settleAgain(tx, results);
  const states = results.map((result) => toState(result, traitsOf(result)));
  await Promise.all([db.insertStates(tx, states), settleNews(tx, results, FIRST)]);
  return 'all';
}

async function settleAgain(tx: Db, results: readonly Result[]): Promise<News> {
  const traits = await traitsOfJobless(tx, results);
  const states = results.map((result) => toState(result, traitsOf(result, traits)));
  const recorded = await db.moveOutcomes(tx, states);
  const news = results.filter((result) => recorded.has(result.messageId));
  await forgetUnknowns(tx, news);
  await settleNews(tx, news, { traits, sentBy: ({ messageId }) => recorded.get(messageId) ?? 0 });
  return new Set(recorded.keys());
}

/** What is known of messages beside their outcomes. */
type Before = {
  readonly traits: ReadonlyMap<string, Traits>;
  /** What its outcome adds to how many were sent. */
  sentBy(result: Result): number;
};

const FIRST: Before = { traits: new Map(), sentBy: ({ outcome }) => (outcome.kind === 'retry' ? 0 : 1) };
const PLAIN: Traits = { channel: 'SMS', campaignId: null };

const traitsOf = ({ job, messageId }: Result, traits: Before['traits'] = FIRST.traits): Traits =>
  job ?? traits.get(messageId) ?? PLAIN;

/** A dead worker's messages are given up by their ids alone. */
async function traitsOfJobless(tx: Db, results: readonly Result[]): Promise<Before['traits']> {
  const keys = results.flatMap(({ job, accountId, messageId }) => (job ? [] : [{ accountId, id: messageId }]));
  return keys.length === 0 ? FIRST.traits : new Map((await db.listTraits(tx, keys)).map((row) => [row.id, row]));
}

/** What comes with the states: parts, unknowns, history, webhooks, figures, credit. All sent before this returns. */
async function settleNews(tx: Db, news: readonly Result[], before: Before): Promise<void> {
  const special = news.filter((result) => !isPlain(result));
  const parts = special.flatMap(toParts);
  const unknown = special.filter((result) => result.outcome.kind === 'unknown' && !result.resubmit);
  const nameless = special.filter(isNameless);
  await Promise.all([
    ...(parts.length > 0 ? [insertParts(tx, parts)] : []),
    ...(unknown.length > 0 ? [insertUnknowns(tx, unknown.map(toUnknown))] : []),
    ...(nameless.length > 0 ? [insertNameless(tx, nameless)] : []),
    insertEvents(tx, special.flatMap(toEvent)),
    publishOutcomes(tx, news),
    recordCombinedEnds(tx, special.flatMap(toCampaignEnd)),
    updateFallbacksDueNow(tx, special.flatMap(toFollowed)),
    countTraffic(tx, figuresOf(news, before)),
    settleCredit(tx, news),
  ]);
}

/** Taken whole under one id, as nearly all are: the state says all about it. */
const isPlain = ({ outcome }: Result): boolean =>
  outcome.kind === 'accepted' &&
  outcome.carrierIds.length === 1 &&
  outcome.carrierIds[0] !== '' &&
  outcome.held === undefined;

const toCampaignEnd = ({ accountId, messageId, outcome, job }: Result): CampaignEnd[] =>
  outcome.kind === 'refused' && job?.keepsReserve && job.campaignId !== null
    ? [{ accountId, campaignId: job.campaignId, messageId, status: STATUS[outcome.status] }]
    : [];

/** A refused single send on a channel that another one may stand in for. */
const toFollowed = ({ accountId, messageId, outcome, job }: Result): Key[] =>
  outcome.kind === 'refused' && job && job.channel !== 'SMS' && job.campaignId === null
    ? [{ accountId, id: messageId }]
    : [];

function figuresOf(news: readonly Result[], { traits, sentBy }: Before): TrafficDelta[] {
  const deltas: TrafficDelta[] = [];
  for (const result of news) {
    const settled = { sent: sentBy(result), settlement: settlementOf(result) };
    const delta = figureOfOutcome(result, traitsOf(result, traits), settled);
    if (delta) deltas.push(delta);
  }
  return deltas;
}

/**
 * Ends what is frozen for messages whose outcome is recorded: the carrier took it and the price is not refundable, or
 * it was refused and the price goes back, unless its campaign keeps it. The rest stays frozen. Last in the transaction:
 * it locks balances.
 */
async function settleCredit(tx: Db, results: readonly Result[]): Promise<void> {
  const earned: Charge[] = [];
  const returned: Charge[] = [];
  for (const result of results) {
    const settlement = settlementOf(result);
    if (settlement === 'held') continue;
    const charge = { accountId: result.accountId, micros: result.job?.priceMicros ?? 0 };
    if (settlement === 'earned') earned.push(charge);
    else if (!result.job?.keepsReserve) returned.push(charge);
  }
  await settleCharges(tx, { earned, returned, reference: results[0]?.messageId ?? '' });
}

function settlementOf(result: Result): Settlement {
  if (result.outcome.kind === 'refused') return 'returned';
  return isHeld(result) ? 'held' : 'earned';
}

/** Whether the price stays frozen after this outcome: it is no end, or a receipt may still give it back. */
const isHeld = ({ outcome, job }: Result): boolean =>
  outcome.kind === 'unknown' ||
  outcome.kind === 'retry' ||
  (outcome.kind === 'accepted' && job?.refundUndelivered === true && job.wantReceipt);

/** The carrier has it, or may have it, under an id that we do not learn, and no receipt is to settle it. */
const isNameless = ({ outcome, resubmit }: Result): boolean =>
  resubmit || (outcome.kind === 'accepted' && outcome.carrierIds.every((id) => id === ''));

/** An outcome that was recorded as unknown, by whoever took this worker's chunks over, is known after all. */
async function forgetUnknowns(tx: Db, news: readonly Result[]): Promise<void> {
  const known = news.filter((result) => result.outcome.kind !== 'unknown');
  if (known.length > 0) await deleteUnknowns(tx, known);
}

function toState(result: Result, { channel, campaignId }: Traits): db.NewState {
  const { accountId, messageId, connectionId, attempt, outcome, resubmit } = result;
  const [only, ...others] = outcome.kind === 'accepted' ? outcome.carrierIds : [];
  return {
    accountId,
    id: messageId,
    status: statusOf(result),
    attempts: attempt,
    connectionId,
    // Some carriers answer ROK with no id at all: nothing can be matched to that.
    carrierId: (others.length === 0 && only) || null,
    submitted: outcome.kind === 'accepted' || (outcome.kind === 'unknown' && !resubmit),
    errorCode: outcome.kind === 'refused' || outcome.kind === 'retry' ? outcome.code : null,
    errorText: outcome.kind === 'accepted' ? null : outcome.text,
    possibleDuplicate: resubmit,
    creditHeld: isHeld(result),
    channel,
    campaignId,
  };
}

function statusOf({ outcome, resubmit }: Result): number {
  if (outcome.kind === 'refused') return STATUS[outcome.status];
  return outcome.kind === 'unknown' && !resubmit ? STATUS.UNKNOWN : STATUS.ACCEPTED;
}

/**
 * A message of one part keeps its carrier id in its state, one of several in its parts. Ids that come with a refusal or
 * with silence are those of the parts before it: the message has more, and the receipt of one is not its end.
 */
function toParts({ accountId, messageId, connectionId, outcome }: Result): NewPart[] {
  if (outcome.kind === 'retry' || (outcome.kind === 'accepted' && outcome.carrierIds.length < 2)) return [];
  return outcome.carrierIds.map((carrierId, index) => ({
    accountId,
    messageId,
    part: index + 1,
    connectionId,
    carrierId,
  }));
}

/** The state tells of an acceptance; any other outcome may be followed by one that replaces it there. */
function toEvent({ accountId, messageId, connectionId, attempt, outcome, resubmit }: Result): NewEvent[] {
  const common = { accountId, messageId, connectionId };
  if (outcome.kind === 'accepted')
    return outcome.held === undefined ? [] : [{ ...common, kind: 'held', text: outcome.held }];
  const details: EventDetails = { attempt, outcome: OUTCOME_NAMES[outcome.kind] };
  const said =
    outcome.kind === 'unknown'
      ? { carrierIds: outcome.carrierIds, possibleDuplicate: resubmit }
      : { code: outcome.code };
  return [{ ...common, kind: 'attempt', text: outcome.text, details: { ...details, ...said } }];
}

const OUTCOME_NAMES = { refused: 'REFUSED', retry: 'RETRY', unknown: 'UNKNOWN' } as const;

const toUnknown = ({ accountId, messageId, connectionId, outcome }: Result) => ({
  accountId,
  messageId,
  connectionId,
  reason: outcome.kind === 'unknown' ? outcome.text : '',
});

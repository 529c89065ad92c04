import type { Receipt, ReceiptState } from '../channels/carrier.ts';
import type { LongReceipts } from '../channels/smpp/settings.ts';
import { MARKETING_STOPPED } from '../channels/whatsapp/error-table.ts';
import { isRich } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { FAILURES_WORST_FIRST, isFinal, STATUS } from '../core/message-state.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { Recorded, Result } from '../dispatch/commit.ts';
import { type Charge, settleFrozen } from '../money/credit.ts';
import { returnAllowance } from '../money/free-allowance.ts';
import { type Costs, NO_COSTS } from '../routing/costs.ts';
import {
  deleteUnknowns,
  endMessages,
  figureOfOutcome,
  insertNameless,
  insertUnknowns,
  marginsOfOutcomes,
  type Settlement,
  type Traits,
} from './end.ts';
import {
  type CampaignEnd,
  type EventDetails,
  insertEvents,
  type NewEvent,
  publishOutcomes,
  recordCombinedEnds,
} from './events.ts';
import { type Key, updateFallbacksDueNow } from './fallback-store.ts';
import { recordBilling } from './network-billing.ts';
import {
  claimStates,
  insertParts,
  listPartStatuses,
  moveParts,
  type NewPart,
  type PartMove,
  type PartStatuses,
} from './parts.ts';
import { repeatLimited } from './limited-marketing.ts';
import { recordMarketingStops } from './stops.ts';
import { type AddressPair, learnAddresses } from './person-aliases.ts';
import type { MessageRead, StateMove } from './store.ts';
import * as db from './store.ts';
import { countMargins, countTraffic, type TrafficDelta } from './traffic.ts';

/**
 * The dispatcher's `settle`: records outcomes in its transaction.
 *
 * First outcomes are inserted at half the cost of an upsert; that fails when one of them is recorded already. With
 * `again` recorded outcomes are unchanged, so that a commit whose response was lost can be repeated.
 *
 * @param costs charges of carriers, for the margins
 * @returns the messages whose outcome is new
 */
export async function settleOutcomes(
  tx: Db,
  results: readonly Result[],
  again: boolean,
  costs: Costs = NO_COSTS,
): Promise<Recorded> {
  if (again || results.some((result) => result.attempt > 1)) return settleRepeated(tx, results, costs);
  const states = results.map((result) => toState(result, traitsOf(result)));
  await Promise.all([db.insertStates(tx, states), settleNews(tx, results, { ...FIRST, costs })]);
  return 'all';
}

async function settleRepeated(tx: Db, results: readonly Result[], costs: Costs): Promise<Recorded> {
  const traits = await traitsOfJobless(tx, results);
  const states = results.map((result) => toState(result, traitsOf(result, traits)));
  const recorded = await db.moveOutcomes(tx, states);
  const news = results.filter((result) => recorded.has(result.messageId));
  await deleteAnswered(tx, news);
  await settleNews(tx, news, {
    traits,
    costs,
    sentBy: ({ messageId }) => recorded.get(messageId)?.sent ?? 0,
    replacesUnknown: ({ messageId }) => recorded.get(messageId)?.replaces === true,
  });
  return new Set(recorded.keys());
}

/** Facts about messages known before their outcomes. */
type Before = {
  readonly traits: ReadonlyMap<string, Traits>;
  /** Returns the addition of a message's outcome to the number of sent messages. */
  sentBy(result: Result): number;
  /** Returns true if the outcome replaces the unknown one of the same attempt. */
  replacesUnknown(result: Result): boolean;
  readonly costs: Costs;
};

const FIRST: Before = {
  traits: new Map(),
  sentBy: ({ outcome }) => (outcome.kind === 'retry' ? 0 : 1),
  replacesUnknown: () => false,
  costs: NO_COSTS,
};
const PLAIN: Traits = { channel: 'SMS', campaignId: null, destination: '', parts: 1 };

const traitsOf = ({ job, messageId }: Result, traits: Before['traits'] = FIRST.traits): Traits =>
  job ?? traits.get(messageId) ?? PLAIN;

/** Reads the traits of messages of a dead worker, which are given up by their ids alone, without jobs. */
async function traitsOfJobless(tx: Db, results: readonly Result[]): Promise<Before['traits']> {
  const keys = results.flatMap(({ job, accountId, messageId }) => (job ? [] : [{ accountId, id: messageId }]));
  return keys.length === 0 ? FIRST.traits : new Map((await db.listTraits(tx, keys)).map((row) => [row.id, row]));
}

/**
 * Records everything that follows from new outcomes: parts, unknowns, history, events, figures, credit. All statements
 * are sent before this returns.
 */
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
    updateFallbacksDueNow(tx, special.flatMap(toFallbackKey)),
    recordMarketingStops(tx, special.flatMap(toStoppedKey)),
    learnAddresses(tx, special.flatMap(toAddressPairs)),
    returnAllowance(tx, special.flatMap(toFreeKey)),
    countTraffic(tx, figuresOf(news, before)),
    countMargins(tx, marginsOf(news, before)),
    settleCredit(tx, news),
  ]);
}

/** True if a carrier accepted the whole message under one id, as for nearly all: its state holds everything. */
const isPlain = ({ outcome }: Result): boolean =>
  outcome.kind === 'accepted' &&
  outcome.carrierIds.length === 1 &&
  outcome.carrierIds[0] !== '' &&
  outcome.held === undefined &&
  outcome.aliases === undefined;

const toCampaignEnd = ({ accountId, messageId, outcome, job }: Result): CampaignEnd[] =>
  outcome.kind === 'refused' && job?.keepsReserve && job.campaignId !== null
    ? [{ accountId, campaignId: job.campaignId, messageId, status: STATUS[outcome.status] }]
    : [];

const toStoppedKey = ({ accountId, messageId, outcome }: Result): Key[] =>
  outcome.kind === 'refused' && outcome.code === MARKETING_STOPPED ? [{ accountId, id: messageId }] : [];

/** Only service messages on WhatsApp have an allowance; a message with a template is none. */
const toFreeKey = ({ accountId, messageId, outcome, job }: Result): Key[] =>
  outcome.kind === 'refused' && job?.channel === 'WHATSAPP' ? [{ accountId, id: messageId }] : [];

const toAddressPairs = ({ accountId, outcome, job }: Result): AddressPair[] =>
  outcome.kind === 'accepted' && job
    ? (outcome.aliases ?? []).map((alias) => ({ accountId, alias, address: job.destination }))
    : [];

/** Returns the key of a rejected single send on a channel that may have a fallback. */
const toFallbackKey = ({ accountId, messageId, outcome, job }: Result): Key[] =>
  outcome.kind === 'refused' && job && isRich(job.channel) && job.campaignId === null
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

const marginsOf = (news: readonly Result[], { traits, costs, replacesUnknown }: Before) =>
  marginsOfOutcomes(
    news.filter(({ connectionId }) => costs.isPriced(connectionId)),
    (result) => ({
      traits: traitsOf(result, traits),
      replacesUnknown: replacesUnknown(result),
      isEarned: settlementOf(result) === 'earned',
    }),
    costs.find,
  );

/**
 * Settles the frozen prices of messages whose outcome is recorded: a price is earned when the carrier accepted the
 * message and it is not refundable, and returned when the message was rejected, unless its campaign keeps it. The
 * others stay frozen. Call it last in the transaction, because it locks balances.
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
  await settleFrozen(tx, { earned, returned, reference: results[0]?.messageId ?? '' });
}

function settlementOf(result: Result): Settlement {
  if (result.outcome.kind === 'refused') return 'returned';
  return isHeld(result) ? 'held' : 'earned';
}

/** True if the price stays frozen: the outcome is not final, or a receipt may still return the price. */
const isHeld = ({ outcome, job }: Result): boolean =>
  outcome.kind === 'unknown' ||
  outcome.kind === 'retry' ||
  (outcome.kind === 'accepted' && job?.refundUndelivered === true && job.wantReceipt);

/**
 * True if the carrier has the message, or may have it, under an id that we never learn, so that no receipt can settle
 * it.
 */
const isNameless = ({ outcome, resubmit }: Result): boolean =>
  resubmit || (outcome.kind === 'accepted' && outcome.carrierIds.every((id) => id === ''));

/** Removes unknown outcomes that are known now; the worker that took over this one's chunks had recorded them. */
async function deleteAnswered(tx: Db, news: readonly Result[]): Promise<void> {
  const known = news.filter((result) => result.outcome.kind !== 'unknown');
  if (known.length > 0) await deleteUnknowns(tx, known);
}

function toState(result: Result, { channel, campaignId }: Traits): db.NewState {
  const { accountId, messageId, connectionId, attempt, outcome, answeredAt, resubmit } = result;
  const [only, ...others] = outcome.kind === 'accepted' ? outcome.carrierIds : [];
  return {
    accountId,
    id: messageId,
    status: statusOf(result),
    attempts: attempt,
    connectionId,
    // Some carriers respond ROK without an id: no receipt can be matched to that.
    carrierId: (others.length === 0 && only) || null,
    submittedAt: outcome.kind === 'accepted' || (outcome.kind === 'unknown' && !resubmit) ? answeredAt : null,
    errorCode: outcome.kind === 'refused' || outcome.kind === 'retry' ? outcome.code : null,
    errorText: outcome.kind === 'accepted' ? null : outcome.text,
    possibleDuplicate: resubmit,
    creditHeld: isHeld(result),
    creditReturned: settlementOf(result) === 'returned',
    channel,
    campaignId,
  };
}

function statusOf({ outcome, resubmit }: Result): number {
  if (outcome.kind === 'refused') return STATUS[outcome.status];
  return outcome.kind === 'unknown' && !resubmit ? STATUS.UNKNOWN : STATUS.ACCEPTED;
}

/**
 * Splits outcomes by part. A message of one part has its carrier id in its state, a message of several parts in its
 * parts. Ids that come with a rejection or without a response belong to the parts before it: the message has more
 * parts, and a receipt of one part is not its end.
 */
function toParts({ accountId, messageId, connectionId, outcome }: Result): NewPart[] {
  if (outcome.kind === 'retry' || (outcome.kind === 'accepted' && outcome.carrierIds.length < 2)) return [];
  const parts = outcome.carrierIds.map((carrierId, index) => ({
    accountId,
    messageId,
    part: index + 1,
    connectionId,
    carrierId,
  }));
  // Our own id, under which a carrier may know a message whose outcome is unknown, names the whole message.
  return outcome.kind === 'unknown' ? parts.filter(({ carrierId }) => carrierId !== messageId) : parts;
}

/**
 * Makes the event of an outcome. An acceptance is in the state of the message; a later outcome may replace any other
 * outcome there.
 */
function toEvent({ accountId, messageId, connectionId, attempt, outcome, answeredAt, resubmit }: Result): NewEvent[] {
  const common = { accountId, messageId, connectionId, at: answeredAt };
  if (outcome.kind === 'accepted')
    return outcome.held === undefined ? [] : [{ ...common, kind: 'held', text: outcome.held }];
  const details: EventDetails = { attempt, outcome: OUTCOME_NAMES[outcome.kind] };
  const more =
    outcome.kind === 'unknown'
      ? { carrierIds: outcome.carrierIds, possibleDuplicate: resubmit }
      : { code: outcome.code };
  return [{ ...common, kind: 'attempt', text: outcome.text, details: { ...details, ...more } }];
}

const OUTCOME_NAMES = { refused: 'REFUSED', retry: 'RETRY', unknown: 'UNKNOWN' } as const;

const toUnknown = ({ accountId, messageId, connectionId, outcome }: Result) => ({
  accountId,
  messageId,
  connectionId,
  reason: outcome.kind === 'unknown' ? outcome.text : '',
});

/** A receipt and the message, or the part of a long message, that it reports on. */
export type MatchedReceipt = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  readonly connectionId: number;
  readonly receipt: Receipt;
  readonly receivedAt: Date;
};

/**
 * Returns the status of a receipt. UNKNOWN means that the carrier does not know, ACCEPTED that the message is on its
 * way: neither moves anything. A message that was read was delivered, whether a receipt reported that or not.
 */
const receiptStatusOf = (state: ReceiptState): number => STATUS[state === 'READ' ? 'DELIVERED' : state];

/**
 * Moves messages to the states that their receipts report, forward only, in the caller's transaction, and settles their
 * frozen prices. A long message is DELIVERED when all its parts are (or those that its carrier reports, see the setting
 * `longReceipts`), and fails with the first part that does. A message
 * that was read is DELIVERED and stores when it was read; READ and DELIVERED may come in any order.
 *
 * @returns the ids of the messages that stayed as they were because they had a final state already
 */
export async function receiveReceipts(tx: Db, received: readonly MatchedReceipt[]): Promise<Set<string>> {
  const matched = await repeatLimited(tx, received);
  const { finals, others } = firstFinals(matched);
  const parted = finals.filter(({ part }) => part !== null);
  const whole = finals.filter(({ part }) => part === null);
  const { ends, movedParts } = await moveByParts(tx, parted);
  const moves = whole.map(toMove);
  const stayed = await endMessages(tx, ends.length === 0 ? moves : [...moves, ...ends].sort(byId), {
    reads: readsOf(matched),
  });
  const idle = new Set([...others, ...parted.filter((m) => !movedParts.has(placeOf(m)))]);
  if (stayed.size > 0) for (const m of whole) if (stayed.has(m.messageId)) idle.add(m);
  if (idle.size > 0) await insertEvents(tx, matched.filter((m) => idle.has(m)).map(toReceiptEvent));
  await recordBilling(tx, matched);
  return stayed;
}

/** The message, or the part of a message, that a receipt reports on. */
type Place = { readonly messageId: string; readonly part: number | null };
const placeOf = ({ messageId, part }: Place): string => `${messageId}/${part}`;

const byPlace = (a: Place, b: Place): number =>
  a.messageId === b.messageId ? (a.part ?? 0) - (b.part ?? 0) : a.messageId < b.messageId ? -1 : 1;

/**
 * Separates the first final receipt of each message or part, in the order of the ids, from the others; later ones in
 * the same batch are repeats. It sorts, because receipts arrive nearly in that order, and a map of ids took three times
 * as long.
 */
function firstFinals(matched: readonly MatchedReceipt[]) {
  const finals: MatchedReceipt[] = [];
  const others: MatchedReceipt[] = [];
  for (const m of matched.toSorted(byPlace)) {
    const last = finals.at(-1);
    const repeated = last !== undefined && byPlace(last, m) === 0;
    if (repeated || !isFinal(receiptStatusOf(m.receipt.state))) others.push(m);
    else finals.push(m);
  }
  return { finals, others };
}

/**
 * Returns the read times of messages, each once, in the order of the ids. A receipt of one part proves nothing about
 * the whole message.
 */
function readsOf(matched: readonly MatchedReceipt[]): MessageRead[] {
  const reads = new Map<string, MessageRead>();
  for (const { receipt, accountId, messageId: id, part, receivedAt } of matched)
    if (receipt.state === 'READ' && part === null && !reads.has(id))
      reads.set(id, { accountId, id, readAt: doneAtOf(receipt, receivedAt) });
  return reads.size === 0 ? [] : [...reads.values()].sort(byId);
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

/** Most receipts give only the minute. When a receipt came within that minute, its arrival is the more precise time. */
function doneAtOf({ doneAt }: Receipt, receivedAt: Date): Date {
  if (doneAt === null) return receivedAt;
  const lateMs = receivedAt.getTime() - doneAt.getTime();
  return doneAt.getTime() % MINUTE_MS === 0 && lateMs >= 0 && lateMs < MINUTE_MS ? receivedAt : doneAt;
}

function toMove({ accountId, messageId, receipt, receivedAt }: MatchedReceipt): StateMove {
  const status = receiptStatusOf(receipt.state);
  return {
    accountId,
    id: messageId,
    status,
    doneAt: doneAtOf(receipt, receivedAt),
    errorCode: receipt.errorCode,
    errorText: status === STATUS.DELIVERED ? null : receipt.raw,
    receiptText: receipt.raw,
    isReported: true,
  };
}

/** Records a receipt that moved nothing, because it belongs to the history of the message. */
const toReceiptEvent = ({
  accountId,
  messageId,
  connectionId,
  part,
  receipt,
  receivedAt,
}: MatchedReceipt): NewEvent => ({
  accountId,
  messageId,
  kind: 'receipt',
  connectionId,
  text: receipt.raw,
  details: {
    status: receiptStatusOf(receipt.state),
    ...(part === null ? {} : { part }),
    ...(receipt.errorCode === null ? {} : { code: receipt.errorCode }),
  },
  at: receivedAt,
});

type PartsMoved = { readonly ends: StateMove[]; readonly movedParts: ReadonlySet<string> };

async function moveByParts(tx: Db, finals: readonly MatchedReceipt[]): Promise<PartsMoved> {
  if (finals.length === 0) return { ends: [], movedParts: new Set() };
  const moves = finals.map(toPartMove).sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
  // Each message once: receipts of several parts often come in one batch, and a repeated key would count the parts
  // twice.
  const keys = [...new Map(moves.map((move) => [move.messageId, move])).values()];
  const [firstId, lastId] = boundsOf(moves.map((move) => move.messageId));
  await claimStates(tx, { keys, firstId, lastId });
  const moved = await moveParts(tx, { moves, firstId, lastId });
  const messages = await listPartStatuses(tx, { keys, firstId, lastId });
  return {
    ends: messages.flatMap((message) => endOf(message, finals)),
    movedParts: new Set(moved.map(placeOf)),
  };
}

const toPartMove = ({ accountId, messageId, part, receipt, receivedAt }: MatchedReceipt): PartMove => ({
  accountId,
  messageId,
  part: part ?? 1,
  status: receiptStatusOf(receipt.state),
  doneAt: doneAtOf(receipt, receivedAt),
  receiptText: receipt.raw,
});

const isDelivered = (status: number | undefined): boolean => status === STATUS.DELIVERED;

/** Tests of whether a message of several parts is delivered, by what its carrier reports; `statuses` are in part order. */
const REPORTED: Readonly<Record<LongReceipts, (statuses: readonly number[], parts: number) => boolean>> = {
  all: (statuses, parts) => statuses.filter(isDelivered).length === parts,
  any: (statuses) => statuses.some(isDelivered),
  first: ([first]) => isDelivered(first),
  last: (statuses, parts) => isDelivered(statuses[parts - 1]),
};

function endOf(
  { accountId, messageId, parts, statuses, longReceipts, doneAt }: PartStatuses,
  matched: readonly MatchedReceipt[],
): StateMove[] {
  const failure = FAILURES_WORST_FIRST.find((status) => statuses.includes(status));
  const delivered = REPORTED[longReceipts](statuses, parts);
  if (failure === undefined && !delivered) return [];
  const reported = matched.find(
    (m) => m.messageId === messageId && receiptStatusOf(m.receipt.state) === failure,
  )?.receipt;
  const status = failure ?? STATUS.DELIVERED;
  return [
    {
      accountId,
      id: messageId,
      status,
      doneAt,
      errorCode: reported?.errorCode ?? null,
      errorText: reported?.raw ?? null,
      isReported: true,
    },
  ];
}

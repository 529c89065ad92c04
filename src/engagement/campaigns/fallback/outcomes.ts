import { boundsOf } from '../../../platform/lib/ids.ts';
import { type Choice, createChooser, createMaxCost, findKnownOf, type Obstacle } from '../production/choose.ts';
import { createMessages } from '../production/create-messages.ts';
import { quietMs } from '../production/quiet-hours.ts';
import { listCandidates, recipientsByNumberSql } from '../production/sql.ts';
import { loadTexts } from '../production/texts.ts';
import { isCombined } from '../mode.ts';
import { deleteCampaignEnds } from '../../../messaging/messages/campaign-ends/sql.ts';
import { type RunningCampaign, updateRunCounters } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { STATUS } from '../../../messaging/states.ts';
import { CANCELLED } from '../../../messaging/cancellation/cancel.ts';
import { type Decision, decide, TIME_OVER } from './decide.ts';
import * as db from './sql.ts';

/** A row holds the final states of one transaction: up to a thousand. */
const ROWS_PER_STEP = 5;

type Next = Extract<Decision, { kind: 'next' }>;
/** A recipient who is to be tried on another channel. */
type Continuation = { readonly fact: db.MessageFact; readonly status: number; readonly next: Next };

/**
 * Processes final states of messages of a combined campaign: a recipient was reached, is tried on the next channel, or
 * has no channel left. The states are deleted in the same transaction that creates the next messages, and each hop of a
 * recipient has at most one row, so that no one gets two copies.
 */
export async function processOutcomes(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING_TO_DO;
  const statuses = await takeOutcomes(step);
  if (statuses.size === 0) return NOTHING_TO_DO;
  const ids = [...statuses.keys()];
  const [firstId, lastId] = boundsOf(ids);
  const counts = { ended: 0, delivered: 0, withdrawn: 0, spareMicros: 0 };
  const findMaxCost = createMaxCost(campaign);
  const continuations: Continuation[] = [];
  /** Recipients who got a message and were tried on more than one channel: it may be their second. */
  const reached: string[] = [];
  for (const fact of await db.listMessageFacts(tx, job, { ids, firstId, lastId })) {
    const status = statuses.get(fact.id) ?? 0;
    const next = decide(fact, status, campaign);
    if (next.kind === 'next') continuations.push({ fact, status, next });
    if (next.kind === 'failed' || next.kind === 'delivered') counts.ended++;
    if (next.kind === 'delivered') counts.delivered++;
    if (next.kind === 'failed' && isWithdrawn(fact, campaign)) counts.withdrawn++;
    counts.spareMicros += spareAtEnd(fact, { status, next, maxMicros: findMaxCost(fact, fact) });
    if (status === STATUS.DELIVERED && fact.hop !== null) reached.push(fact.destination);
  }
  const hops = continuations.length > 0 ? await tryNextChannels(step, continuations) : NO_HOPS;
  const deliveredTwice = reached.length > 0 ? await db.countSecondDeliveries(tx, job, reached) : 0;
  const ended = counts.ended + hops.ended;
  const spareMicros = counts.spareMicros + hops.spareMicros;
  await updateRunCounters(tx, job, { ...counts, messages: hops.messages, ended, spareMicros, deliveredTwice });
  return 0;
}

/** Returns true if the cancellation of the campaign withdrew the message. */
const isWithdrawn = ({ status, errorCode }: db.MessageFact, { cancelled }: RunningCampaign): boolean =>
  cancelled && status === STATUS.DELETED && errorCode === CANCELLED;

/** Returns the cost of a message, or its cost if it is still delivered. */
const costOf = ({ creditReturned, priceMicros }: db.MessageFact): number => (creditReturned ? 0 : priceMicros);

/**
 * Returns the amount that can no longer be spent on a recipient who ends here, or on a message that another channel has
 * overtaken. `maxMicros` is the maximum cost of this message and those after it until now.
 */
function spareAtEnd(
  fact: db.MessageFact,
  { status, next, maxMicros }: { status: number; next: Decision; maxMicros: number },
): number {
  if (next.kind === 'next') return 0;
  if (next.kind !== 'stale') return maxMicros - costOf(fact);
  return status === TIME_OVER ? 0 : fact.priceMicros - costOf(fact);
}

/** Returns the statuses by message. A final status takes precedence over `TIME_OVER`. */
async function takeOutcomes({ tx, job }: Step): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (const row of await deleteCampaignEnds(tx, job, ROWS_PER_STEP))
    for (const [i, id] of row.messageIds.entries())
      statuses.set(id, Math.max(row.statuses[i] ?? 0, statuses.get(id) ?? Number.NEGATIVE_INFINITY));
  return statuses;
}

type HopCounts = { readonly messages: number; readonly ended: number; readonly spareMicros: number };
const NO_HOPS: HopCounts = { messages: 0, ended: 0, spareMicros: 0 };

/** Creates the next messages of these recipients. Those whose country has quiet hours are postponed. */
async function tryNextChannels(step: Step, continuations: readonly Continuation[]): Promise<HopCounts> {
  const { tx, job, campaign } = step;
  const wanted = continuations.map(({ fact, next }) => ({ destination: fact.destination, channels: next.channels }));
  const texts = await loadTexts(step);
  const source = recipientsByNumberSql(job, wanted);
  const candidates = await listCandidates(tx, { accountId: campaign.accountId, texts, source });
  const choose = createChooser(step);
  const known = await findKnownOf(step, candidates);
  const quiet = new Map<number, Continuation[]>();
  const chosen: Chosen[] = [];
  for (const candidate of candidates) {
    const continuation = continuations[candidate.place];
    if (!continuation) continue;
    const waitMs = quietMs(campaign.quietHours, candidate.country, campaign.now);
    if (waitMs === 0) chosen.push({ continuation, choice: choose(candidate, known) });
    else quiet.set(waitMs, [...(quiet.get(waitMs) ?? []), continuation]);
  }
  for (const [waitMs, own] of quiet) await postpone(step, own, waitMs);
  return createHops(step, chosen);
}

const postpone = ({ tx, job }: Step, continuations: readonly Continuation[], waitMs: number): Promise<void> =>
  db.insertPostponedOutcomes(tx, job, {
    messageIds: continuations.map(({ fact }) => fact.id),
    statuses: continuations.map(({ status }) => status),
    waitMs,
  });

type Chosen = { readonly continuation: Continuation; readonly choice: Choice | Obstacle };

async function createHops(step: Step, chosen: readonly Chosen[]): Promise<HopCounts> {
  const able = chosen.flatMap(({ continuation, choice }) =>
    typeof choice === 'string' ? [] : [{ continuation, choice }],
  );
  const byHop = [...Map.groupBy(able, ({ continuation }) => hopAfter(continuation.fact))];
  for (const [hop, own] of byHop) {
    const messages = await createMessages(
      step,
      hop,
      own.map(({ choice }) => choice),
    );
    const hops = messages.map(({ id, destination }, i) => ({
      destination,
      hop,
      messageId: id,
      reason: own[i]?.continuation.next.reason ?? '',
      fromChannel: own[i]?.continuation.fact.channel ?? '',
    }));
    await db.insertHops(step.tx, step.job, hops);
  }
  const maxCost = createMaxCost(step.campaign);
  const findMaxCost = (fact: db.MessageFact): number => maxCost(fact, fact);
  return {
    messages: able.length,
    // A recipient without another message ends here, unless the last one may still arrive: its final state decides
    // then.
    ended: chosen.filter(({ continuation, choice }) => typeof choice === 'string' && !continuation.next.open).length,
    spareMicros: chosen.reduce((sum, one) => sum + spareAtHop(one, findMaxCost(one.continuation.fact)), 0),
  };
}

const hopAfter = ({ hop }: db.MessageFact): number => (hop ?? 0) + 1;

/**
 * Returns the amount that can no longer be spent on a recipient once the next channel is tried, or cannot be. Below
 * zero: a message whose time was over may still be delivered, and costs its price in addition to the next one.
 */
function spareAtHop({ continuation: { fact, next }, choice }: Chosen, maxMicros: number): number {
  if (typeof choice !== 'string') return maxMicros - costOf(fact) - choice.maxMicros;
  // No message follows now; if this one is still open, its end decides again.
  return next.open ? 0 : maxMicros - costOf(fact);
}

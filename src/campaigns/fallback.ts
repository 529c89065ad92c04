import type { Pool } from 'pg';
import { toBits } from '../core/channels.ts';
import { boundsOf } from '../core/ids.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { CANCELLED } from '../messages/cancellation.ts';
import { deleteCampaignEnds } from '../messages/events.ts';
import { validUntilOf } from '../messages/load.ts';
import {
  decideNext,
  followRule,
  type NextStep,
  REVOKE_LEASE_MS,
  REVOKE_RETRY_MS,
  type Revoke,
  revokeAll,
  SUBMITTED_WAIT_MS,
  TIME,
  toRevocable,
  withdrawUntaken,
} from '../messages/next-channel.ts';
import { chainOf, isCombined } from './audience.ts';
import { type Choice, createChooser, createMaxCost, findKnownOf, type Obstacle } from './choose.ts';
import * as db from './fallback-store.ts';
import { type MessageFact, updateBatchDue } from './fallback-store.ts';
import { placeOfRecipient, waitMsOf } from './hours.ts';
import { createMessages } from './produce.ts';
import { listCandidates, loadTexts, recipientsByNumberSql } from './production-store.ts';
import { NOTHING_TO_DO, type RevocableBatch, type RunningCampaign, type Step, updateRunCounters } from './run.ts';

/** A recipient who is to be tried on another channel. */
type Continuation = {
  readonly fact: MessageFact;
  /** The final status of the message; null: its time is over, and it may still be delivered. */
  readonly status: number | null;
  /** The bits of the channels that may be tried. */
  readonly channels: number;
  readonly reason: string;
};
type AfterEnd = Continuation & { readonly status: number };

/** Returns the bits of the channels that the mode tries after this one. */
function channelsAfter({ sendingMode }: RunningCampaign, channel: string): number {
  const chain = chainOf(sendingMode);
  const at = chain.findIndex((name) => name === channel);
  return at < 0 ? 0 : toBits(chain.slice(at + 1));
}

/** A row holds the final states of one transaction: up to a thousand. */
const ROWS_PER_STEP = 5;

/**
 * Processes final states of messages of a combined campaign: a recipient was reached, is tried on the next channel, or
 * has no channel left. The states are deleted in the same transaction that creates the next messages, and each fallback of a
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
  const maxCost = createMaxCost(campaign);
  const continuations: AfterEnd[] = [];
  /** Recipients who got a message and were tried on more than one channel: it may be their second. */
  const reached: string[] = [];
  for (const fact of await db.listMessageFacts(tx, job, { ids, firstId, lastId })) {
    const status = statuses.get(fact.id) ?? STATUS.UNKNOWN;
    if (status === STATUS.DELIVERED && fact.fallbackNumber !== null) reached.push(fact.destination);
    if (!isCurrent(fact)) {
      // Another channel has been tried: this message returns what it does not cost.
      counts.spareMicros += fact.priceMicros - costOf(fact);
      continue;
    }
    const continuation = continuationOf(fact, status, campaign);
    if (continuation) {
      continuations.push(continuation);
      continue;
    }
    counts.ended++;
    counts.spareMicros += maxCost(fact, fact) - costOf(fact);
    if (status === STATUS.DELIVERED) counts.delivered++;
    else if (isWithdrawn(fact, campaign)) counts.withdrawn++;
  }
  const fallbacks = await tryNextChannels(step, await postponeQuiet(step, continuations));
  const deliveredTwice = reached.length > 0 ? await db.countSecondDeliveries(tx, job, reached) : 0;
  const ended = counts.ended + fallbacks.ended;
  const spareMicros = counts.spareMicros + fallbacks.spareMicros;
  await updateRunCounters(tx, job, { ...counts, messages: fallbacks.messages, ended, spareMicros, deliveredTwice });
  return 0;
}

/** Returns true if the cancellation of the campaign withdrew the message. */
const isWithdrawn = ({ status, errorCode }: MessageFact, { cancelled }: RunningCampaign): boolean =>
  cancelled && status === STATUS.DELETED && errorCode === CANCELLED;

/** Returns the cost of a message, or its cost if it is still delivered. */
const costOf = ({ creditReturned, priceMicros }: MessageFact): number => (creditReturned ? 0 : priceMicros);

const isCurrent = ({ id, fallbackMessageId }: MessageFact): boolean =>
  fallbackMessageId === null || fallbackMessageId === id;

/**
 * Returns the continuation after a final state, if there is one. UNKNOWN: we gave the message up, and a carrier may have
 * it.
 */
function continuationOf(fact: MessageFact, status: number, campaign: RunningCampaign): AfterEnd | null {
  const channels = campaign.cancelled ? 0 : channelsAfter(campaign, fact.channel);
  if (channels === 0) return null;
  const step = decide({ ...fact, status, mayHaveArrived: status === STATUS.UNKNOWN }, campaign.now, campaign);
  return step.kind === 'next' ? { fact, status, channels, reason: step.reason } : null;
}

/** @param from start of the message's wait for a carrier */
function decide(
  fact: Pick<MessageFact, 'id' | 'channel' | 'submittedAt' | 'errorCode' | 'status'> & { mayHaveArrived: boolean },
  from: Date,
  { fallback, now }: RunningCampaign,
): NextStep {
  const validUntil = validUntilOf({ id: fact.id, validUntil: null, scheduledAt: from });
  return decideNext({ ...fact, from, validUntil }, followRule(fallback, fact.channel), now);
}

async function takeOutcomes({ tx, job }: Step): Promise<Map<string, number>> {
  const rows = await deleteCampaignEnds(tx, job, ROWS_PER_STEP);
  return new Map(
    rows.flatMap(({ messageIds, statuses }) => messageIds.map((id, i) => [id, statuses[i] ?? STATUS.UNKNOWN] as const)),
  );
}

/** Postpones continuations whose country has quiet hours. Returns the others. */
async function postponeQuiet({ tx, job, campaign }: Step, continuations: readonly AfterEnd[]) {
  const byWait = Map.groupBy(continuations, ({ fact }) =>
    waitMsOf(placeOfRecipient(fact.country, fact.destination), campaign, campaign.now),
  );
  for (const [waitMs, own] of byWait)
    if (waitMs > 0)
      await db.insertPostponedOutcomes(tx, job, {
        messageIds: own.map(({ fact }) => fact.id),
        statuses: own.map(({ status }) => status),
        waitMs,
      });
  return byWait.get(0) ?? [];
}

type FallbackCounts = { readonly messages: number; readonly ended: number; readonly spareMicros: number };
const NO_FALLBACKS: FallbackCounts = { messages: 0, ended: 0, spareMicros: 0 };

/** Creates the next messages of these recipients. */
async function tryNextChannels(step: Step, continuations: readonly Continuation[]): Promise<FallbackCounts> {
  if (continuations.length === 0) return NO_FALLBACKS;
  const { tx, job, campaign } = step;
  const wanted = continuations.map(({ fact, channels }) => ({ destination: fact.destination, channels }));
  const texts = await loadTexts(step);
  const source = recipientsByNumberSql(job, wanted);
  const candidates = await listCandidates(tx, { accountId: campaign.accountId, texts, source });
  const choose = createChooser(step);
  const known = await findKnownOf(step, candidates);
  const chosen = candidates.flatMap((candidate): Chosen[] => {
    const continuation = continuations[candidate.place];
    return continuation ? [{ continuation, choice: choose(candidate, known) }] : [];
  });
  return createFallbacks(step, chosen);
}

type Chosen = { readonly continuation: Continuation; readonly choice: Choice | Obstacle };

async function createFallbacks(step: Step, chosen: readonly Chosen[]): Promise<FallbackCounts> {
  const able = chosen.flatMap(({ continuation, choice }) =>
    typeof choice === 'string' ? [] : [{ continuation, choice }],
  );
  const byNumber = [...Map.groupBy(able, ({ continuation }) => nextFallbackNumber(continuation.fact))];
  for (const [fallbackNumber, own] of byNumber) {
    const messages = await createMessages(
      step,
      fallbackNumber,
      own.map(({ choice }) => choice),
    );
    const fallbacks = messages.map(({ id, destination }, i) => ({
      destination,
      fallbackNumber,
      messageId: id,
      reason: own[i]?.continuation.reason ?? '',
      fromChannel: own[i]?.continuation.fact.channel ?? '',
    }));
    await db.insertFallbacks(step.tx, step.job, fallbacks);
  }
  const maxCost = createMaxCost(step.campaign);
  const findMaxCost = (fact: MessageFact): number => maxCost(fact, fact);
  return {
    messages: able.length,
    // A recipient without another message ends here, unless the last one may still arrive: its final state decides
    // then.
    ended: chosen.filter(({ continuation, choice }) => typeof choice === 'string' && continuation.status !== null)
      .length,
    spareMicros: chosen.reduce((sum, one) => sum + spareAtFallback(one, findMaxCost(one.continuation.fact)), 0),
  };
}

const nextFallbackNumber = ({ fallbackNumber }: MessageFact): number => (fallbackNumber ?? 0) + 1;

/**
 * Returns the amount that can no longer be spent on a recipient once the next channel is tried, or cannot be. Below
 * zero: a message whose time was over may still be delivered, and costs its price in addition to the next one.
 */
function spareAtFallback({ continuation: { fact, status }, choice }: Chosen, maxMicros: number): number {
  if (typeof choice !== 'string') return maxMicros - costOf(fact) - choice.maxMicros;
  // No message follows now; if this one is still open, its end decides again.
  return status === null ? 0 : maxMicros - costOf(fact);
}

/**
 * Processes messages whose time on their channel is over. It begins when a carrier takes the message, so a batch is
 * checked again until all of its messages were taken and have had their time. Those whose time is over are revoked if
 * their network supports it, and nothing follows before that; the others are followed by the next channel. Those that
 * no carrier took within their maximum wait are withdrawn from the queue.
 */
export async function processTimeouts(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING_TO_DO;
  const batch = await db.findDueBatch(tx, job);
  if (!batch) return (await db.findNextDueMs(tx, job)) ?? NOTHING_TO_DO;
  const asleepMs = waitMsOf(placeOfRecipient(batch.country, batch.firstDestination), campaign, campaign.now);
  await db.updateBatchDue(tx, job, { batchId: batch.id, waitMs: asleepMs || (await endChannelTime(step, batch)) });
  return 0;
}

/** Returns the ms until the batch is due again; null: all of it is done. */
async function endChannelTime(
  step: Step,
  { id: batchId, messageIds: ids, createdAt }: db.Batch,
): Promise<number | null> {
  const { tx, job, campaign } = step;
  const [firstId, lastId] = boundsOf(ids);
  const open = (await db.listMessageFacts(tx, job, { ids, firstId, lastId })).filter(
    (fact) => isCurrent(fact) && !(fact.status !== null && isFinal(fact.status)),
  );
  const decided = open.map((fact) => ({ fact, next: decide({ ...fact, mayHaveArrived: false }, createdAt, campaign) }));
  const factsOf = (kind: NextStep['kind']) => decided.filter(({ next }) => next.kind === kind).map(({ fact }) => fact);
  const counts = await tryNextChannels(
    step,
    factsOf('next').map((fact) => ({
      fact,
      status: null,
      channels: channelsAfter(campaign, fact.channel),
      reason: TIME,
    })),
  );
  if (counts !== NO_FALLBACKS) await updateRunCounters(tx, job, counts);
  const late = factsOf('withdraw').map(({ id }) => ({ accountId: job.accountId, id }));
  const submitted = await withdrawUntaken(tx, late, campaign.now);
  const waits = decided.flatMap(({ next }) => (next.kind === 'wait' ? [next.waitMs] : []));
  if (submitted.size > 0) waits.push(SUBMITTED_WAIT_MS);
  const againMs = waits.length > 0 ? Math.min(...waits) : null;
  const messages = factsOf('revoke').flatMap((fact) => toRevocable({ ...job, ...fact }));
  if (messages.length === 0) return againMs;
  step.revocable.push({ job, batchId, messages, againMs });
  return REVOKE_LEASE_MS;
}

/**
 * Revokes messages whose time is over at their network. Those for which the network gives no response are tried again.
 */
export async function revokeBatch(pool: Pool, revoke: Revoke, { job, batchId, messages, againMs }: RevocableBatch) {
  const setDue = (waitMs: number | null) => updateBatchDue(pool, job, { batchId, waitMs });
  const deps = { pool, revoke, now: () => new Date() };
  const results = await revokeAll(deps, messages, () => setDue(REVOKE_LEASE_MS));
  const isOpen = [...results.values()].includes('later');
  await setDue(isOpen ? Math.min(againMs ?? REVOKE_RETRY_MS, REVOKE_RETRY_MS) : againMs);
}

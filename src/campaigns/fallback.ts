import type { Pool } from 'pg';
import { CHANNEL, toBits } from '../core/channels.ts';
import { boundsOf } from '../core/ids.ts';
import { isFinal, nameOfStatus, STATUS } from '../core/message-state.ts';
import { CANCELLED } from '../messages/cancellation.ts';
import { endMessages } from '../messages/end.ts';
import { deleteCampaignEnds, insertCampaignEnds } from '../messages/events.ts';
import { withdrawFromQueue } from '../messages/expiry.ts';
import { type RevocableMessage, type Revoke, revokeMessages, toNotTried } from '../messages/fallback.ts';
import { NOT_TRIED, restMs, triggersFallback, UNKNOWN_WAIT_MS } from '../messages/fallback-store.ts';
import { chainOf, isCombined } from './audience.ts';
import { type Choice, createChooser, createMaxCost, findKnownOf, type Obstacle, quietMs } from './choose.ts';
import { timesOf } from './create.ts';
import * as db from './fallback-store.ts';
import { type MessageFact, TIME, updateBatchDue } from './fallback-store.ts';
import { createMessages } from './produce.ts';
import { listCandidates, loadTexts, recipientsByNumberSql } from './production-store.ts';
import {
  type Job,
  NOTHING_TO_DO,
  type RevocableBatch,
  type RunningCampaign,
  type Step,
  updateRunCounters,
} from './run.ts';

/** Used instead of a status: the time of the channel is over, and the message may still be delivered. */
const TIME_OVER = -1;

/** Consequence of a final state of a message for its recipient. */
type Decision =
  /** Nothing: another channel has been tried already, or this state was processed before. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed' }
  /**
   * Another channel is tried: one of `channels` (bits), for this reason. `open`: the previous message may still be
   * delivered.
   */
  | { readonly kind: 'next'; readonly channels: number; readonly reason: string; readonly open: boolean };

/**
 * Decides the next step when a message of a combined campaign has ended or its time is over. A hop ends with a final
 * failure, or when its time is over. No other channel follows a message that may have been delivered (an unknown
 * outcome, which comes as status 0), nor one that was withdrawn on purpose. A pure function.
 */
function decide(fact: MessageFact, status: number, campaign: RunningCampaign): Decision {
  if (fact.hopMessageId !== null && fact.hopMessageId !== fact.id) return { kind: 'stale' };
  if (status === TIME_OVER && (fact.status === null || isFinal(fact.status))) return { kind: 'stale' };
  if (status === STATUS.DELIVERED) return { kind: 'delivered' };
  const channels = channelsAfter(campaign, fact.channel);
  const goesOn = channels !== 0 && !campaign.cancelled && allowsFallback(fact, status, campaign);
  const open = status === TIME_OVER;
  if (goesOn) return { kind: 'next', channels, reason: reasonOf(fact, status), open };
  return open ? { kind: 'stale' } : { kind: 'failed' };
}

function reasonOf({ errorCode }: MessageFact, status: number): string {
  if (status === TIME_OVER) return TIME;
  return errorCode === NOT_TRIED ? NOT_TRIED : nameOfStatus(status);
}

function allowsFallback({ errorCode }: MessageFact, status: number, { fallback }: RunningCampaign): boolean {
  return status === TIME_OVER || triggersFallback({ status, errorCode }, fallback.onStatus);
}

/** Returns the bits of the channels that the mode tries after this one. */
function channelsAfter({ sendingMode }: RunningCampaign, channel: string): number {
  const chain = chainOf(sendingMode);
  const at = chain.findIndex((name) => name === channel);
  return at < 0 ? 0 : toBits(chain.slice(at + 1));
}

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

/** The wait for the response of a carrier to messages that were just sent to it. */
const RESPONSE_WAIT_MS = 10_000;
/** The shortest wait until a batch is checked again: messages that come due in the meantime are processed together. */
const MIN_WAIT_MS = 1000;

/**
 * Processes messages whose time on their channel is over. It begins when a carrier takes the message (`restMs`), so a
 * batch is checked again until all of its messages were taken and have had their time; while it is unknown whether one
 * was taken, every five minutes. Those whose time is over are revoked if their network supports it, and nothing follows
 * before that; for the others it is recorded. Those that no carrier took within their maximum wait are withdrawn from
 * the queue. The next step is decided together with all final states (outcomes.ts).
 */
export async function processTimeouts(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING_TO_DO;
  const batch = await db.findDueBatch(tx, job);
  if (!batch) return (await db.findNextDueMs(tx, job)) ?? NOTHING_TO_DO;
  const asleepMs = quietMs(campaign.quietHours, batch.country, campaign.now);
  await db.updateBatchDue(tx, job, { batchId: batch.id, waitMs: asleepMs || (await endChannelTime(step, batch)) });
  return 0;
}

/** Returns the ms until the batch is due again; null: all of it is done. */
async function endChannelTime(step: Step, batch: db.Batch): Promise<number | null> {
  const { tx, job, campaign } = step;
  const { id: batchId, messageIds: ids } = batch;
  const [firstId, lastId] = boundsOf(ids);
  const timed = (await db.listMessageFacts(tx, job, { ids, firstId, lastId }))
    .filter((fact) => isCurrent(fact) && (isAccepted(fact) || isUnsent(fact) || isInDoubt(fact)))
    .map((fact) => ({ ...fact, leftMs: leftMsOf(fact, batch, campaign) }));
  const late = timed.filter(({ leftMs }) => leftMs <= 0);
  const accepted = late.filter(isAccepted);
  const messages = accepted.flatMap((fact) => toRevocable(job, fact));
  const over = accepted.flatMap(({ id, channel }) => (CHANNEL[channel].revocable ? [] : [id]));
  if (over.length > 0)
    await insertCampaignEnds(tx, [{ ...job, messageIds: over, statuses: over.map(() => TIME_OVER) }]);
  const written = await withdrawQueued(
    step,
    late.filter(isUnsent).map(({ id }) => id),
  );
  const waits = timed.flatMap(waitsOf);
  if (written > 0) waits.push(RESPONSE_WAIT_MS);
  const againMs = waits.length > 0 ? Math.min(...waits) : null;
  if (messages.length === 0) return againMs;
  step.revocable.push({ job, batchId, messages, againMs });
  return REVOKE_LEASE_MS;
}

const isCurrent = ({ id, hopMessageId }: db.MessageFact): boolean => hopMessageId === null || hopMessageId === id;

const isAccepted = ({ status, submittedAt }: db.MessageFact): boolean =>
  submittedAt !== null && status === STATUS.ACCEPTED;

/** Returns true if the message is in the queue, for the first time or again. */
const isUnsent = ({ status, submittedAt }: db.MessageFact): boolean =>
  submittedAt === null && (status === null || status === STATUS.ACCEPTED);

/**
 * Returns true if it is unknown whether the carrier took the message. Once that is known, its time goes on or is over.
 */
const isInDoubt = ({ status }: db.MessageFact): boolean => status === STATUS.UNKNOWN;

/** Returns the ms until a message must be checked again, if it must. */
function waitsOf(fact: db.MessageFact & { readonly leftMs: number }): number[] {
  if (isInDoubt(fact)) return [Math.max(fact.leftMs, UNKNOWN_WAIT_MS)];
  return fact.leftMs > 0 ? [Math.max(fact.leftMs, MIN_WAIT_MS)] : [];
}

const leftMsOf = (
  { channel, submittedAt }: db.MessageFact,
  { createdAt }: db.Batch,
  { fallback, now }: RunningCampaign,
): number => restMs({ from: createdAt, submittedAt }, timesOf(fallback, channel), now);

function toRevocable({ accountId }: Job, fact: db.MessageFact): RevocableMessage[] {
  const { id: messageId, destination, channel, sender, connectionId } = fact;
  return CHANNEL[channel].revocable && connectionId !== null
    ? [{ accountId, messageId, sender, destination, connectionId }]
    : [];
}

/** Withdraws messages from the queue. Returns the number that were sent in the meantime, without a response yet. */
async function withdrawQueued({ tx, job: { accountId }, campaign }: Step, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const withdrawn = await withdrawFromQueue(
    tx,
    ids.map((id) => ({ accountId, id })),
  );
  await endMessages(
    tx,
    [...withdrawn].map((id) => toNotTried({ accountId, id }, campaign.now)),
  );
  return ids.length - withdrawn.size;
}

/** Number of requests that are sent to a network in parallel and recorded in one commit. */
const CONCURRENT_REQUESTS = 20;
/**
 * Time for which a batch belongs to one worker after its last request; after that, the worker has died or the network
 * is silent.
 */
const REVOKE_LEASE_MS = 20_000;
/** The wait until another process may have the connection, or the network a response. */
const RETRY_MS = 15_000;

/**
 * Revokes messages whose time is over at their network. Those for which the network gives no response are tried again.
 */
export async function revokeAll(pool: Pool, revoke: Revoke, { job, batchId, messages, againMs }: RevocableBatch) {
  const deps = { pool, revoke, now: () => new Date() };
  let waitMs = againMs;
  for (let at = 0; at < messages.length; at += CONCURRENT_REQUESTS) {
    const results = await revokeMessages(deps, messages.slice(at, at + CONCURRENT_REQUESTS));
    if (at + CONCURRENT_REQUESTS < messages.length)
      await updateBatchDue(pool, job, { batchId, waitMs: REVOKE_LEASE_MS });
    if ([...results.values()].includes('later')) waitMs = Math.min(waitMs ?? RETRY_MS, RETRY_MS);
  }
  await updateBatchDue(pool, job, { batchId, waitMs });
}

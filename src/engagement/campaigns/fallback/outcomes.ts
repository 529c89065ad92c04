import { boundsOf } from '../../../platform/lib/ids.ts';
import { type Choice, createChooser, type Obstacle } from '../production/choose.ts';
import { createMessages } from '../production/create-messages.ts';
import { quietMs } from '../production/quiet-hours.ts';
import { listCandidates, recipientsByNumberSql } from '../production/sql.ts';
import { loadTexts } from '../production/texts.ts';
import { isCombined } from '../mode.ts';
import { deleteCampaignEnds } from '../../../messaging/messages/campaign-ends/sql.ts';
import { updateRunCounters } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { type Decision, decide } from './decide.ts';
import * as db from './sql.ts';

/** A row holds the final states of one transaction: up to a thousand. */
const ROWS_PER_STEP = 5;

type Next = Extract<Decision, { kind: 'next' }>;
/** A recipient who is to be tried on another channel. */
type Continuation = { readonly fact: db.MessageFact; readonly status: number; readonly next: Next };

/**
 * Processes final states of messages of a combined campaign: a recipient was reached, is tried on the next channel, or
 * has no channel left. The states are deleted in the same transaction that creates the next messages, and each hop of a
 * recipient has at most one row, so that nobody gets two copies.
 */
export async function processOutcomes(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING_TO_DO;
  const statuses = await takeOutcomes(step);
  if (statuses.size === 0) return NOTHING_TO_DO;
  const ids = [...statuses.keys()];
  const [firstId, lastId] = boundsOf(ids);
  const counts = { ended: 0, delivered: 0 };
  const continuations: Continuation[] = [];
  for (const fact of await db.listMessageFacts(tx, job, { ids, firstId, lastId })) {
    const status = statuses.get(fact.id) ?? 0;
    const next = decide(fact, status, campaign);
    if (next.kind === 'next') continuations.push({ fact, status, next });
    if (next.kind === 'failed' || next.kind === 'delivered') counts.ended++;
    if (next.kind === 'delivered') counts.delivered++;
  }
  const hops = continuations.length > 0 ? await tryNextChannels(step, continuations) : NO_HOPS;
  await updateRunCounters(tx, job, { ...hops, ended: counts.ended + hops.ended, delivered: counts.delivered });
  return 0;
}

/** Returns the statuses by message. A final status takes precedence over `TIME_OVER`. */
async function takeOutcomes({ tx, job }: Step): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (const row of await deleteCampaignEnds(tx, job, ROWS_PER_STEP))
    for (const [i, id] of row.messageIds.entries())
      statuses.set(id, Math.max(row.statuses[i] ?? 0, statuses.get(id) ?? Number.NEGATIVE_INFINITY));
  return statuses;
}

type HopCounts = { readonly messages: number; readonly ended: number; readonly lateMicros: number };
const NO_HOPS: HopCounts = { messages: 0, ended: 0, lateMicros: 0 };

/** Creates the next messages of these recipients. Those whose country has quiet hours are postponed. */
async function tryNextChannels(step: Step, continuations: readonly Continuation[]): Promise<HopCounts> {
  const { tx, job, campaign } = step;
  const wanted = continuations.map(({ fact, next }) => ({ destination: fact.destination, channels: next.channels }));
  const texts = await loadTexts(step);
  const source = recipientsByNumberSql(job, wanted);
  const candidates = await listCandidates(tx, { accountId: campaign.accountId, texts, source });
  const choose = createChooser(step);
  const quiet = new Map<number, Continuation[]>();
  const chosen: Chosen[] = [];
  for (const candidate of candidates) {
    const continuation = continuations[candidate.place];
    if (!continuation) continue;
    const waitMs = quietMs(campaign.quietHours, candidate.country, campaign.now);
    if (waitMs === 0) chosen.push({ continuation, choice: choose(candidate) });
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
  return {
    messages: able.length,
    // A recipient without another message ends here, unless the last one may still arrive: its final state will tell.
    ended: chosen.filter(({ continuation, choice }) => typeof choice === 'string' && !continuation.next.open).length,
    lateMicros: able.reduce((sum, { continuation }) => sum + lateMicrosOf(continuation), 0),
  };
}

const hopAfter = ({ hop }: db.MessageFact): number => (hop ?? 0) + 1;

/** What a message that was overtaken may still cost. */
const lateMicrosOf = ({ fact, next }: Continuation): number =>
  next.open && fact.refundUndelivered ? fact.priceMicros : 0;

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

/** A row has the ends of one transaction: up to a thousand. */
const ROWS_PER_STEP = 5;

type Next = Extract<Decision, { kind: 'next' }>;
/** A recipient who goes on. */
type Continuation = { readonly fact: db.MessageFact; readonly status: number; readonly next: Next };

/**
 * Looks at ends of messages of a combined campaign: recipients have been reached, or go on to their next channel, or
 * have had their last one. The ends are gone with the same transaction that makes the next messages, and each hop of a
 * recipient has one row at most: nobody gets two copies.
 */
export async function processOutcomes(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING_TO_DO;
  const statuses = await takeOutcomes(step);
  if (statuses.size === 0) return NOTHING_TO_DO;
  const ids = [...statuses.keys()];
  const [firstId, lastId] = boundsOf(ids);
  const counts = { ended: 0, delivered: 0 };
  const goers: Continuation[] = [];
  for (const fact of await db.listMessageFacts(tx, job, { ids, firstId, lastId })) {
    const status = statuses.get(fact[0]) ?? 0;
    const next = decide(fact, status, campaign);
    if (next.kind === 'next') goers.push({ fact, status, next });
    if (next.kind === 'failed' || next.kind === 'delivered') counts.ended++;
    if (next.kind === 'delivered') counts.delivered++;
  }
  const gone = goers.length > 0 ? await tryNextChannels(step, goers) : NO_HOPS;
  await updateRunCounters(tx, job, { ...gone, ended: counts.ended + gone.ended, delivered: counts.delivered });
  return 0;
}

/** By message; a real end says more than that time is over. */
async function takeOutcomes({ tx, job }: Step): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (const row of await deleteCampaignEnds(tx, job, ROWS_PER_STEP))
    for (const [i, id] of row.messageIds.entries())
      statuses.set(id, Math.max(row.statuses[i] ?? 0, statuses.get(id) ?? Number.NEGATIVE_INFINITY));
  return statuses;
}

type HopCounts = { readonly messages: number; readonly ended: number; readonly lateMicros: number };
const NO_HOPS: HopCounts = { messages: 0, ended: 0, lateMicros: 0 };

/** Makes the next messages of these recipients, those left for later whose country is asleep. */
async function tryNextChannels(step: Step, goers: readonly Continuation[]): Promise<HopCounts> {
  const { tx, job, campaign } = step;
  const wanted = goers.map(({ fact, next }) => ({ destination: fact[1], channels: next.channels }));
  const texts = await loadTexts(step);
  const source = recipientsByNumberSql(job, wanted);
  const candidates = await listCandidates(tx, { accountId: campaign.accountId, texts, source });
  const choose = createChooser(step);
  const asleep = new Map<number, Continuation[]>();
  const going: { goer: Continuation; choice: Choice | Obstacle }[] = [];
  for (const candidate of candidates) {
    const goer = goers[candidate[0]];
    if (!goer) continue;
    const waitMs = quietMs(campaign.quietHours, candidate[1], campaign.now);
    if (waitMs === 0) going.push({ goer, choice: choose(candidate) });
    else asleep.set(waitMs, [...(asleep.get(waitMs) ?? []), goer]);
  }
  for (const [waitMs, sleepers] of asleep) await postpone(step, sleepers, waitMs);
  return createHops(step, going);
}

const postpone = ({ tx, job }: Step, goers: readonly Continuation[], waitMs: number): Promise<void> =>
  db.insertPostponedOutcomes(tx, job, {
    messageIds: goers.map(({ fact }) => fact[0]),
    statuses: goers.map(({ status }) => status),
    waitMs,
  });

async function createHops(
  step: Step,
  going: readonly { goer: Continuation; choice: Choice | Obstacle }[],
): Promise<HopCounts> {
  const able = going.flatMap(({ goer, choice }) => (typeof choice === 'string' ? [] : [{ goer, choice }]));
  const made = [...Map.groupBy(able, ({ goer }) => hopAfter(goer.fact))];
  for (const [hop, own] of made) {
    const messages = await createMessages(
      step,
      hop,
      own.map(({ choice }) => choice),
    );
    const hops = messages.map(({ id, destination }, i) => ({
      destination,
      hop,
      messageId: id,
      reason: own[i]?.goer.next.reason ?? '',
      fromChannel: own[i]?.goer.fact[2] ?? '',
    }));
    await db.insertHops(step.tx, step.job, hops);
  }
  return {
    messages: able.length,
    // Whoever cannot go on ends here, unless his last message may still arrive: its own end will say.
    ended: going.filter(({ goer, choice }) => typeof choice === 'string' && !goer.next.open).length,
    lateMicros: able.reduce((sum, { goer }) => sum + lateMicrosOf(goer), 0),
  };
}

const hopAfter = ([, , , , , , , , , hop]: db.MessageFact): number => (hop ?? 0) + 1;

/** What a message that was overtaken may still cost. */
const lateMicrosOf = ({ fact, next }: Continuation): number => (next.open && fact[5] ? fact[4] : 0);

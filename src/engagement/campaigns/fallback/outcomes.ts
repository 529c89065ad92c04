import { boundsOf } from '../../../platform/lib/ids.ts';
import { type Choice, chooser, type Obstacle } from '../production/choose.ts';
import { makeMessages } from '../production/create-messages.ts';
import { quietMs } from '../production/quiet-hours.ts';
import { listCandidates, recipientsAt } from '../production/sql.ts';
import { loadTexts } from '../production/texts.ts';
import { isCombined } from '../mode.ts';
import { deleteCampaignEnds } from '../../../messaging/messages/campaign-ends/sql.ts';
import { moveRun } from '../run/sql.ts';
import { NOTHING, type Step } from '../run/step.ts';
import { type Decision, decide } from './decide.ts';
import * as db from './sql.ts';

/** A row has the ends of one transaction: up to a thousand. */
const ROWS_A_STEP = 5;

type Next = Extract<Decision, { kind: 'next' }>;
/** A recipient who goes on. */
type Goer = { readonly fact: db.Fact; readonly status: number; readonly next: Next };

/**
 * Looks at ends of messages of a combined campaign: recipients have been reached, or go on to their next channel, or
 * have had their last one. The ends are gone with the same transaction that makes the next messages, and each hop of a
 * recipient has one row at most: nobody gets two copies.
 */
export async function lookAtOutcomes(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  if (!isCombined(campaign.sendingMode)) return NOTHING;
  const statuses = await takeOutcomes(step);
  if (statuses.size === 0) return NOTHING;
  const ids = [...statuses.keys()];
  const [firstId, lastId] = boundsOf(ids);
  const counts = { ended: 0, delivered: 0 };
  const goers: Goer[] = [];
  for (const fact of await db.listFacts(tx, job, { ids, firstId, lastId })) {
    const status = statuses.get(fact[0]) ?? 0;
    const next = decide(fact, status, campaign);
    if (next.kind === 'next') goers.push({ fact, status, next });
    if (next.kind === 'failed' || next.kind === 'delivered') counts.ended++;
    if (next.kind === 'delivered') counts.delivered++;
  }
  const gone = goers.length > 0 ? await goOn(step, goers) : NOBODY;
  await moveRun(tx, job, { ...gone, ended: counts.ended + gone.ended, delivered: counts.delivered });
  return 0;
}

/** By message; a real end says more than that time is over. */
async function takeOutcomes({ tx, job }: Step): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (const row of await deleteCampaignEnds(tx, job, ROWS_A_STEP))
    for (const [i, id] of row.messageIds.entries())
      statuses.set(id, Math.max(row.statuses[i] ?? 0, statuses.get(id) ?? Number.NEGATIVE_INFINITY));
  return statuses;
}

type Gone = { readonly messages: number; readonly ended: number; readonly lateMicros: number };
const NOBODY: Gone = { messages: 0, ended: 0, lateMicros: 0 };

/** Makes the next messages of these recipients, those left for later whose country is asleep. */
async function goOn(step: Step, goers: readonly Goer[]): Promise<Gone> {
  const { tx, job, campaign } = step;
  const wanted = goers.map(({ fact, next }) => ({ destination: fact[1], channels: next.channels }));
  const texts = await loadTexts(step);
  const source = recipientsAt(job, wanted);
  const candidates = await listCandidates(tx, { accountId: campaign.accountId, texts, source });
  const choose = chooser(step);
  const asleep = new Map<number, Goer[]>();
  const going: { goer: Goer; choice: Choice | Obstacle }[] = [];
  for (const candidate of candidates) {
    const goer = goers[candidate[0]];
    if (!goer) continue;
    const waitMs = quietMs(campaign.quietHours, candidate[1], campaign.now);
    if (waitMs === 0) going.push({ goer, choice: choose(candidate) });
    else asleep.set(waitMs, [...(asleep.get(waitMs) ?? []), goer]);
  }
  for (const [waitMs, sleepers] of asleep) await holdBack(step, sleepers, waitMs);
  return makeHops(step, going);
}

const holdBack = ({ tx, job }: Step, goers: readonly Goer[], waitMs: number): Promise<void> =>
  db.insertHeldOutcomes(tx, job, {
    messageIds: goers.map(({ fact }) => fact[0]),
    statuses: goers.map(({ status }) => status),
    waitMs,
  });

async function makeHops(step: Step, going: readonly { goer: Goer; choice: Choice | Obstacle }[]): Promise<Gone> {
  const able = going.flatMap(({ goer, choice }) => (typeof choice === 'string' ? [] : [{ goer, choice }]));
  const made = [...Map.groupBy(able, ({ goer }) => hopAfter(goer.fact))];
  for (const [hop, own] of made) {
    const messages = await makeMessages(
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

const hopAfter = ([, , , , , , , , , hop]: db.Fact): number => (hop ?? 0) + 1;

/** What a message that was overtaken may still cost. */
const lateMicrosOf = ({ fact, next }: Goer): number => (next.open && fact[5] ? fact[4] : 0);

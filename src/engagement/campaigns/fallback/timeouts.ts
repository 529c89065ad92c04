import { boundsOf } from '../../../platform/lib/ids.ts';
import { endMessages } from '../../../messaging/messages/end.ts';
import { withdrawFromQueue } from '../../../messaging/expiry/withdraw.ts';
import { type RevocableMessage, toTimedOut } from '../../../messaging/fallback/ends.ts';
import { STATUS } from '../../../messaging/states.ts';
import { quietMs } from '../production/quiet-hours.ts';
import { isCombined } from '../mode.ts';
import { insertCampaignEnds } from '../../../messaging/messages/campaign-ends/sql.ts';
import type { Job } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { TIME_OVER } from './codes.ts';
import { REVOKE_LEASE_MS } from './revoke.ts';
import * as db from './sql.ts';

/** Until a carrier has answered what was just written to it. */
const RESPONSE_WAIT_MS = 10_000;

/**
 * Looks at messages whose channel has had its time. Those that a network can take back are, and only then does anything
 * follow; those that wait in the queue are withdrawn; of the others it is noted that their time is over. What follows is
 * decided with all other ends (outcomes.ts).
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

/** Answers in how many ms to look at the batch again; null: all of it is done. */
async function endChannelTime(step: Step, { id: batchId, messageIds: ids }: db.Batch): Promise<number | null> {
  const { tx, job } = step;
  const [firstId, lastId] = boundsOf(ids);
  const facts = (await db.listMessageFacts(tx, job, { ids, firstId, lastId })).filter(isCurrent);
  const accepted = facts.filter(isAccepted);
  const messages = accepted.flatMap((fact) => toRevocable(job, fact));
  const over = accepted.flatMap(([id, , channel]) => (channel === 'RCS' ? [] : [id]));
  if (over.length > 0)
    await insertCampaignEnds(tx, [{ ...job, messageIds: over, statuses: over.map(() => TIME_OVER) }]);
  const written = await withdrawQueued(
    step,
    facts.filter(isUnsent).map(([id]) => id),
  );
  const againMs = written > 0 ? RESPONSE_WAIT_MS : null;
  if (messages.length === 0) return againMs;
  step.revocable.push({ job, batchId, messages, againMs });
  return REVOKE_LEASE_MS;
}

const isCurrent = ([id, , , , , , , , , , hopMessageId]: db.MessageFact): boolean =>
  hopMessageId === null || hopMessageId === id;

const isAccepted = ([, , , , , , status, , , , , submitted]: db.MessageFact): boolean =>
  submitted && status === STATUS.ACCEPTED;

/** In the queue for the first time, or again. */
const isUnsent = ([, , , , , , status, , , , , submitted]: db.MessageFact): boolean =>
  !submitted && (status === null || status === STATUS.ACCEPTED);

function toRevocable({ accountId }: Job, fact: db.MessageFact): RevocableMessage[] {
  const [messageId, destination, channel, sender, , , , , connectionId] = fact;
  return channel === 'RCS' && connectionId !== null
    ? [{ accountId, messageId, sender, destination, connectionId }]
    : [];
}

/** Answers how many are with a carrier by now, which has not answered yet. */
async function withdrawQueued({ tx, job: { accountId }, campaign }: Step, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const withdrawn = await withdrawFromQueue(
    tx,
    ids.map((id) => ({ accountId, id })),
  );
  await endMessages(
    tx,
    [...withdrawn].map((id) => toTimedOut({ accountId, id }, campaign.now)),
  );
  return ids.length - withdrawn.size;
}

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
import { TIME_OVER } from './decide.ts';
import { REVOKE_LEASE_MS } from './revoke.ts';
import * as db from './sql.ts';

/** The wait for the response of a carrier to what was just sent to it. */
const RESPONSE_WAIT_MS = 10_000;

/**
 * Processes messages whose time on their channel is over. Those that a network can revoke are revoked, and nothing
 * follows before that; those that wait in the queue are withdrawn; for the others it is recorded that their time is
 * over. What follows is decided together with all final states (outcomes.ts).
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

/** Returns in how many ms the batch is due again; null: all of it is done. */
async function endChannelTime(step: Step, { id: batchId, messageIds: ids }: db.Batch): Promise<number | null> {
  const { tx, job } = step;
  const [firstId, lastId] = boundsOf(ids);
  const facts = (await db.listMessageFacts(tx, job, { ids, firstId, lastId })).filter(isCurrent);
  const accepted = facts.filter(isAccepted);
  const messages = accepted.flatMap((fact) => toRevocable(job, fact));
  const over = accepted.flatMap(({ id, channel }) => (channel === 'RCS' ? [] : [id]));
  if (over.length > 0)
    await insertCampaignEnds(tx, [{ ...job, messageIds: over, statuses: over.map(() => TIME_OVER) }]);
  const written = await withdrawQueued(
    step,
    facts.filter(isUnsent).map(({ id }) => id),
  );
  const againMs = written > 0 ? RESPONSE_WAIT_MS : null;
  if (messages.length === 0) return againMs;
  step.revocable.push({ job, batchId, messages, againMs });
  return REVOKE_LEASE_MS;
}

const isCurrent = ({ id, hopMessageId }: db.MessageFact): boolean => hopMessageId === null || hopMessageId === id;

const isAccepted = ({ status, submitted }: db.MessageFact): boolean => submitted && status === STATUS.ACCEPTED;

/** Whether the message is in the queue, for the first time or again. */
const isUnsent = ({ status, submitted }: db.MessageFact): boolean =>
  !submitted && (status === null || status === STATUS.ACCEPTED);

function toRevocable({ accountId }: Job, fact: db.MessageFact): RevocableMessage[] {
  const { id: messageId, destination, channel, sender, connectionId } = fact;
  return channel === 'RCS' && connectionId !== null
    ? [{ accountId, messageId, sender, destination, connectionId }]
    : [];
}

/** Withdraws messages from the queue. Returns how many were sent in the meantime, without a response yet. */
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

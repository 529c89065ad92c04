import { boundsOf } from '../../../platform/lib/ids.ts';
import { endMessages } from '../../../messaging/messages/end.ts';
import { withdrawFromQueue } from '../../../messaging/expiry/withdraw.ts';
import { type RevocableMessage, toNotTried } from '../../../messaging/fallback/ends.ts';
import { restMs, UNKNOWN_WAIT_MS } from '../../../messaging/messages/fallback/rule.ts';
import { STATUS } from '../../../messaging/states.ts';
import { quietMs } from '../production/quiet-hours.ts';
import { isCombined } from '../mode.ts';
import { timesOf } from '../times.ts';
import { insertCampaignEnds } from '../../../messaging/messages/campaign-ends/sql.ts';
import type { Job, RunningCampaign } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { TIME_OVER } from './decide.ts';
import { REVOKE_LEASE_MS } from './revoke.ts';
import * as db from './sql.ts';

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
  const over = accepted.flatMap(({ id, channel }) => (channel === 'RCS' ? [] : [id]));
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
  return channel === 'RCS' && connectionId !== null
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

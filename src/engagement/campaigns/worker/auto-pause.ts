import { recordAudit, systemAuthor } from '../../../identity/audit/record.ts';
import { moveChunksToParked } from '../../../network/dispatch/campaigns/sql.ts';
import { listTemplateFaults } from './template-faults.ts';
import { SUSPENDED } from './end/complete.ts';
import { clearFailureReason, moveToPausedFor } from '../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

const POLL_MS = 1000;
/** Time within which a carrier may request a retry of a message that it had when the campaign was paused. */
const SETTLED_MS = 2 * MINUTE_MS;

/** Keeps the messages of a paused campaign parked, including those that return to the queue. */
export async function keepPaused({ tx, job, campaign }: Step): Promise<number> {
  await moveChunksToParked(tx, job);
  return (campaign.pausedMs ?? 0) < SETTLED_MS ? POLL_MS : NOTHING_TO_DO;
}

/** Pauses a campaign whose account was suspended, until a person resumes it. */
export async function pauseSuspended({ tx, job }: Step): Promise<number> {
  await moveToPausedFor(tx, job, { reason: SUSPENDED });
  await moveChunksToParked(tx, job);
  return POLL_MS;
}

/**
 * Pauses a campaign whose template may not be sent any more, until a person resumes it; the reason names the template.
 * Returns 0 when it did.
 */
export async function pauseUnsendable({ tx, job, campaign }: Step): Promise<number> {
  const faults = await listTemplateFaults(tx, { ...campaign, settings: campaign });
  if (faults.length === 0) return NOTHING_TO_DO;
  const reason = faults.map(({ field, templateId, message }) => `${field} ${templateId}: ${message}`).join('; ');
  await moveToPausedFor(tx, job, { reason });
  await moveChunksToParked(tx, job);
  const subject = `campaign:${campaign.id}`;
  await recordAudit(tx, systemAuthor(campaign.accountId), { action: 'campaign.pause', subject, detail: { reason } });
  return 0;
}

/** Clears the reason for which a campaign was paused, once it has been resumed. */
export async function clearPauseReason({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.failureReason !== null) await clearFailureReason(tx, job);
  return NOTHING_TO_DO;
}

import { moveChunksToParked } from '../../dispatch/campaigns/sql.ts';
import { SUSPENDED } from './end/complete.ts';
import { moveFromHeld, moveToHeld } from './sql.ts';
import { NOTHING, type Step } from './step.ts';

const LOOK_MS = 1000;
/** So long a carrier may take to say "later" of a message that it had when the campaign was paused. */
const SETTLED_MS = 2 * 60_000;

/** Keeps a paused campaign's messages out of reach, those too that come back to the queue. */
export async function stayPaused({ tx, job, campaign }: Step): Promise<number> {
  await moveChunksToParked(tx, job);
  return (campaign.pausedMs ?? 0) < SETTLED_MS ? LOOK_MS : NOTHING;
}

/** Pauses a campaign whose account was suspended, until somebody resumes it. */
export async function holdSuspended({ tx, job }: Step): Promise<number> {
  await moveToHeld(tx, job, { reason: SUSPENDED });
  await moveChunksToParked(tx, job);
  return LOOK_MS;
}

/** Forgets why a campaign was held that goes on. */
export async function forgetHold({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.failureReason !== null) await moveFromHeld(tx, job);
  return NOTHING;
}

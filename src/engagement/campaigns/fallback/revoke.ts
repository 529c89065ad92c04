import type { Pool } from 'pg';
import { revokeMessages } from '../../../messaging/fallback/revoke.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { RevocableBatch } from '../run/step.ts';
import { updateBatchDue } from './sql.ts';

/** Requests to a network at a time, and in one commit. */
const MESSAGES_PER_REQUEST_BATCH = 20;
/** So long a batch is one worker's from the last word on; then it has died, or its network is silent. */
export const REVOKE_LEASE_MS = 20_000;
/** Until another process may have the link, or the network an answer. */
const RETRY_MS = 15_000;

/** Takes messages back that their time is over for; what its network does not answer for is asked about again. */
export async function revokeAll(pool: Pool, revoke: Revoke, { job, batchId, messages, againMs }: RevocableBatch) {
  const deps = { pool, revoke, now: () => new Date() };
  let waitMs = againMs;
  for (let at = 0; at < messages.length; at += MESSAGES_PER_REQUEST_BATCH) {
    const words = await revokeMessages(deps, messages.slice(at, at + MESSAGES_PER_REQUEST_BATCH));
    if (at + MESSAGES_PER_REQUEST_BATCH < messages.length)
      await updateBatchDue(pool, job, { batchId, waitMs: REVOKE_LEASE_MS });
    if ([...words.values()].includes('later')) waitMs = Math.min(waitMs ?? RETRY_MS, RETRY_MS);
  }
  await updateBatchDue(pool, job, { batchId, waitMs });
}

import type { Pool } from 'pg';
import { revokeMessages } from '../../../messaging/fallback/revoke.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { RevocableBatch } from '../run/step.ts';
import { updateBatchDue } from './sql.ts';

/** Number of requests that are sent to a network in parallel and recorded in one commit. */
const CONCURRENT_REQUESTS = 20;
/**
 * Time for which a batch belongs to one worker after its last request; after that, the worker has died or the network
 * is silent.
 */
export const REVOKE_LEASE_MS = 20_000;
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

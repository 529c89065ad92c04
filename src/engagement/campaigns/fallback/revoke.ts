import type { Pool } from 'pg';
import { revokeMessages } from '../../../messaging/fallback/revoke.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { Revocable } from '../run/step.ts';
import { moveBatch } from './sql.ts';

/** Requests to a network at a time, and in one commit. */
const AT_ONCE = 20;
/** So long a batch is one worker's from the last word on; then it has died, or its network is silent. */
export const REVOKING_MS = 20_000;
/** Until another process may have the link, or the network an answer. */
const LATER_MS = 15_000;

/** Takes messages back that their time is over for; what its network does not answer for is asked about again. */
export async function revokeAll(pool: Pool, revoke: Revoke, { job, batchId, messages, againMs }: Revocable) {
  const deps = { pool, revoke, now: () => new Date() };
  let waitMs = againMs;
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const words = await revokeMessages(deps, messages.slice(at, at + AT_ONCE));
    if (at + AT_ONCE < messages.length) await moveBatch(pool, job, { batchId, waitMs: REVOKING_MS });
    if ([...words.values()].includes('later')) waitMs = Math.min(waitMs ?? LATER_MS, LATER_MS);
  }
  await moveBatch(pool, job, { batchId, waitMs });
}

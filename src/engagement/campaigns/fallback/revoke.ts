import type { Pool } from 'pg';
import { askBack } from '../../../messaging/fallback/ask-back.ts';
import type { RevocableMessage, Revoke } from '../../../messaging/fallback/ends.ts';
import type { Job } from '../run/sql.ts';
import { moveBatch } from './sql.ts';

/** Messages of a batch that have to be taken back before their recipients go on. */
export type Revocable = {
  readonly job: Job;
  readonly batchId: number;
  readonly messages: readonly RevocableMessage[];
  /** When to look at the batch again for its other messages; null: they are done. */
  readonly againMs: number | null;
};

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
    const words = await askBack(deps, messages.slice(at, at + AT_ONCE));
    if (at + AT_ONCE < messages.length) await moveBatch(pool, job, { batchId, waitMs: REVOKING_MS });
    if ([...words.values()].includes('later')) waitMs = Math.min(waitMs ?? LATER_MS, LATER_MS);
  }
  await moveBatch(pool, job, { batchId, waitMs });
}

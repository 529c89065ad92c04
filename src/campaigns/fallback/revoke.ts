import type { Pool } from 'pg';
import { transaction } from '../../db/transaction.ts';
import { endMessages } from '../../messages/end.ts';
import { type RevocableMessage, type Revoke, toRevoked } from '../../messages/fallback/ends.ts';
import type { Job } from '../run/sql.ts';
import { moveBatch } from './sql.ts';

/** Messages of a batch that have to be taken back before their recipients go on. */
export type Revocable = { readonly job: Job; readonly batchId: number; readonly messages: readonly RevocableMessage[] };

/** Requests to a network at a time, and in one commit. */
const AT_ONCE = 20;
/** Until another process may have the link. */
const ELSEWHERE_MS = 15_000;

/**
 * Takes messages back that their time is over for. Only the network's word ends one (DELETED, code REVOKED), which is
 * what lets its recipient go on. It asks outside of any transaction; after a crash in between it is asked again.
 */
export async function revokeAll(pool: Pool, revoke: Revoke, { job, batchId, messages }: Revocable): Promise<void> {
  let elsewhere = false;
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const some = messages.slice(at, at + AT_ONCE);
    const answers = await Promise.all(some.map(revoke));
    const revoked = some.filter((_, i) => answers[i] === true);
    elsewhere ||= answers.includes(null);
    await transaction(pool, (tx) =>
      endMessages(
        tx,
        revoked.map(({ messageId: id }) => toRevoked({ accountId: job.accountId, id }, new Date())),
      ),
    );
  }
  await moveBatch(pool, job, { batchId, waitMs: elsewhere ? ELSEWHERE_MS : null });
}

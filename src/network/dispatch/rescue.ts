import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { isRecorded, type Recorded, type Result, type Settle } from './commit.ts';
import * as db from './sql.ts';

const CHUNKS_PER_TRANSACTION = 100;

/**
 * Takes over the chunks of dead workers. Messages that may have been written and have no outcome become `unknown` (and
 * are sent once more where their chunk has `resubmit`); the others go back to the queue.
 *
 * @param settle records outcomes, and skips messages that have one already
 * @returns how many chunks were taken over, how many messages became unknown, and the connections that have work again
 */
export async function rescueChunks(
  pool: Pool,
  settle: Settle,
): Promise<{ chunks: number; unknown: number; connectionIds: number[] }> {
  if (!(await db.hasOrphanChunks(pool))) return { chunks: 0, unknown: 0, connectionIds: [] };
  return transaction(pool, async (tx) => {
    const orphans = await db.claimOrphanChunks(tx, CHUNKS_PER_TRANSACTION);
    const inDoubt = orphans.flatMap(inDoubtOf);
    const unknown: Recorded = inDoubt.length > 0 ? await settle(tx, inDoubt, true) : new Set();
    for (const orphan of orphans) {
      const { id, owner, intent, ids } = orphan;
      if (intent >= ids.length) await db.deleteChunks(tx, { owner, ids: [id] });
      else await db.moveChunkToQueue(tx, { owner, id, ids: ids.slice(intent) });
      if (orphan.onUnknown === 'resubmit') await resubmit(tx, orphan, unknown);
    }
    return {
      chunks: orphans.length,
      unknown: unknown === 'all' ? inDoubt.length : unknown.size,
      connectionIds: [...new Set(orphans.map((chunk) => chunk.connectionId))],
    };
  });
}

type Orphan = Awaited<ReturnType<typeof db.claimOrphanChunks>>[number];

const STOPPED = {
  kind: 'unknown',
  text: 'the worker stopped before the answer was recorded',
  carrierIds: [],
} as const;

const inDoubtOf = ({ accountId, connectionId, attempt, onUnknown, intent, ids }: Orphan): Result[] =>
  ids.slice(0, intent).map((messageId) => ({
    accountId,
    messageId,
    connectionId,
    attempt: attempt + 1,
    outcome: STOPPED,
    resubmit: onUnknown === 'resubmit',
    job: null,
  }));

/** Queues messages once more, for the same connection only; after a second `unknown` they are held. */
async function resubmit(tx: Db, { attempt, intent, ...chunk }: Orphan, unknown: Recorded): Promise<void> {
  const ids = chunk.ids.slice(0, intent).filter((id) => isRecorded(unknown, id));
  if (ids.length === 0) return;
  const again = { ...chunk, alternates: [], attempt: attempt + 1, afterMs: 0, onUnknown: 'hold' as const, ids };
  await db.insertRetryChunk(tx, again);
}

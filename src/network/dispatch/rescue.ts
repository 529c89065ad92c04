import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { isNews, type News, type Result, type Settle } from './pump.ts';
import * as db from './sql.ts';

const BATCH = 100;

/**
 * Takes over the chunks of workers that died: what may have been written and has no outcome becomes `unknown` (and goes
 * out once more where its chunk says so), the rest goes back to the queue as if nothing had happened.
 *
 * @param settle records outcomes and leaves those alone that have one already
 * @returns how many chunks were taken over, and the connections that have work again
 */
export async function rescueChunks(
  pool: Pool,
  settle: Settle,
): Promise<{ chunks: number; unknown: number; connectionIds: number[] }> {
  if (!(await db.findOrphan(pool))) return { chunks: 0, unknown: 0, connectionIds: [] };
  return transaction(pool, async (tx) => {
    const orphans = await db.claimOrphanChunks(tx, BATCH);
    const inDoubt = orphans.flatMap(inDoubtOf);
    const unknown: News = inDoubt.length > 0 ? await settle(tx, inDoubt, true) : new Set();
    for (const orphan of orphans) {
      const { id, owner, intent, ids } = orphan;
      if (intent >= ids.length) await db.deleteChunks(tx, { owner, ids: [id] });
      else await db.moveChunkToQueue(tx, { owner, id, ids: ids.slice(intent) });
      if (orphan.onUnknown === 'resubmit') await sendAgain(tx, orphan, unknown);
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

/** Once, and over no other connection: after a second unknown they are held. */
async function sendAgain(tx: Db, { attempt, intent, ...chunk }: Orphan, unknown: News): Promise<void> {
  const ids = chunk.ids.slice(0, intent).filter((id) => isNews(unknown, id));
  if (ids.length === 0) return;
  const again = { ...chunk, alternates: [], attempt: attempt + 1, afterMs: 0, onUnknown: 'hold' as const, ids };
  await db.insertRetryChunk(tx, again);
}

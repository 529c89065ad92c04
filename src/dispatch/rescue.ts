import type { Pool } from 'pg';
import { transaction } from '../db/transaction.ts';
import type { Settle } from './pump.ts';
import * as db from './sql.ts';

const BATCH = 100;

/**
 * Takes over the chunks of workers that died: what may have been written and has no outcome becomes `unknown`, the
 * rest goes back to the queue as if nothing had happened.
 *
 * @param settle records outcomes and leaves those alone that have one already
 * @returns how many chunks were taken over, and the connections that have work again
 */
export async function rescueChunks(
  pool: Pool,
  settle: Settle,
): Promise<{ chunks: number; unknown: number; connectionIds: number[] }> {
  return transaction(pool, async (tx) => {
    const orphans = await db.claimOrphanChunks(tx, BATCH);
    const inDoubt = orphans.flatMap((chunk) =>
      chunk.ids.slice(0, chunk.intent).map((messageId) => ({
        accountId: chunk.accountId,
        messageId,
        connectionId: chunk.connectionId,
        attempt: chunk.attempt + 1,
        outcome: {
          kind: 'unknown',
          text: 'the worker stopped before the answer was recorded',
          carrierIds: [],
        } as const,
        job: null,
      })),
    );
    const unknown = inDoubt.length > 0 ? await settle(tx, inDoubt, true) : new Set();
    for (const { id, owner, intent, ids } of orphans) {
      if (intent >= ids.length) await db.deleteChunks(tx, { owner, ids: [id] });
      else await db.moveChunkToQueue(tx, { owner, id, ids: ids.slice(intent) });
    }
    return {
      chunks: orphans.length,
      unknown: unknown.size,
      connectionIds: [...new Set(orphans.map((chunk) => chunk.connectionId))],
    };
  });
}

import type { Pool } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import type { Log } from '../../../platform/lib/log.ts';
import { type Chunk, deleteChunks, moveChunkToQueue } from '../sql.ts';
import { insertLost } from './sql.ts';

type Deps = {
  readonly pool: Pool;
  readonly owner: number;
  readonly connectionId: number;
  readonly log: Log;
  /** Returns true if a message is so old that its row may have been deleted. */
  readonly mayBeGone?: (messageId: string) => boolean;
};

/**
 * Returns a claimed chunk to the queue with those of its messages that were found. The others should not be missing,
 * unless they are older than the retention: they were accepted for sending. Their ids are kept in `lost_chunk` and
 * reported.
 */
export async function dropMissing(
  { pool, owner, connectionId, log, mayBeGone = () => false }: Deps,
  { id, ids }: Pick<Chunk, 'id' | 'ids'>,
  found: readonly string[],
): Promise<void> {
  const here = new Set(found);
  const lost = ids.filter((messageId) => !here.has(messageId) && !mayBeGone(messageId));
  await transaction(pool, async (tx) => {
    if (lost.length > 0) await insertLost(tx, { owner, id, ids: lost });
    if (found.length === 0) await deleteChunks(tx, { owner, ids: [id] });
    else await moveChunkToQueue(tx, { owner, id, ids: found });
  });
  if (lost.length === 0) return;
  log.error({ connectionId, messages: lost.length, messageId: lost[0] }, 'queued messages do not exist: not sent');
}

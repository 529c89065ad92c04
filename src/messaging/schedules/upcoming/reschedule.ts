import type { Pool } from 'pg';
import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import { deleteEmptyChunks, moveToWithdrawn } from '../../../network/dispatch/withdrawals/sql.ts';
import { tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { deadlinesOf } from '../../expiry/deadlines.ts';
import { deleteDeadline, insertDeadlines } from '../../expiry/sql.ts';
import { updateFallbackBy } from '../../messages/fallback/sql.ts';
import { notifyWake } from '../sql.ts';
import * as db from './sql.ts';

/**
 * Changes the send time of a waiting message of the author's account. Its validity, its deadline and its fallback move
 * by the same time. Errors: 404 when no message with this id waits for its time.
 */
export function reschedule(pool: Pool, author: Author, { id, at }: { id: string; at: Date }): Promise<void> {
  const { accountId } = author;
  return tenantTransaction(pool, author, async (tx) => {
    const chunk = await db.claimScheduledChunk(tx, { accountId, id });
    const message = chunk && (await db.findUpcoming(tx, { accountId, id }));
    if (!chunk || !message) throw new AppError('not_found');
    const { scheduledAt, validUntil } = message;
    const byMs = at.getTime() - scheduledAt.getTime();
    const moved = { scheduledAt: at, validUntil: validUntil && new Date(validUntil.getTime() + byMs) };
    const chunkIds = [chunk.chunkId];
    await moveToWithdrawn(tx, { chunkIds, keys: [{ accountId, id }] });
    await db.insertRescheduledChunk(tx, { accountId, id, chunkId: chunk.chunkId, at });
    await deleteEmptyChunks(tx, { chunkIds });
    await db.updateSchedule(tx, { accountId, id, at, validUntil: moved.validUntil });
    for (const old of deadlinesOf([{ ...message, accountId, simulation: false }]))
      await deleteDeadline(tx, { accountId, id, dueAt: old.dueAt });
    await insertDeadlines(tx, deadlinesOf([{ accountId, id, simulation: false, ...moved }]));
    await updateFallbackBy(tx, { accountId, id, byMs });
    await notifyWake(tx, { connectionId: chunk.connectionId });
    const detail = { from: scheduledAt.toISOString(), to: at.toISOString() };
    await recordAudit(tx, author, { action: 'message.reschedule', subject: `message:${id}`, detail });
  });
}

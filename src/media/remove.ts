import type { Pool } from 'pg';
import { recordAudit } from '../identity/audit/record.ts';
import type { Db } from '../platform/db/query.ts';
import { transaction } from '../platform/db/transaction.ts';
import { AppError } from '../platform/errors.ts';
import type { Actor } from '../platform/lib/actor.ts';
import { insertRemovals } from '../platform/storage/sql.ts';
import { type DeletedMedia, deleteOldInbound, deleteUpload } from './sql.ts';

const keysOf = ({ fileKey, thumbnailKey }: DeletedMedia): string[] =>
  thumbnailKey === null ? [fileKey] : [fileKey, thumbnailKey];

/**
 * Removes an upload; audited. Its links stop working when the transaction commits, and its files are deleted soon
 * after. Errors: 404 for an unknown or foreign id.
 */
export async function removeMedia(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const { accountId } = actor;
  const deleted = await deleteUpload(tx, { accountId, id });
  if (!deleted) throw new AppError('not_found');
  await insertRemovals(tx, { accountId, keys: keysOf(deleted), afterSeconds: 0 });
  await recordAudit(tx, actor, { action: 'media.delete', subject: `media:${id}` });
}

const FILES_PER_RUN = 500;

/** Removes files that were received with messages more than `days` days ago, and returns how many. */
export const removeOldInbound = (pool: Pool, { days }: { days: number }): Promise<number> =>
  transaction(pool, async (tx) => {
    const deleted = await deleteOldInbound(tx, { days, limit: FILES_PER_RUN });
    for (const [accountId, files] of Map.groupBy(deleted, (file) => file.accountId))
      await insertRemovals(tx, { accountId, keys: files.flatMap(keysOf), afterSeconds: 0 });
    return deleted.length;
  });

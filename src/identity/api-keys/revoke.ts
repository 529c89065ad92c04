import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { deleteKey, deleteKeysOfUser } from './sql.ts';

/**
 * Revokes a key with all its values: its next request gets 401. Call it in a transaction.
 * Errors: 404 for an unknown or foreign id.
 */
export async function revokeKey(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  if ((await deleteKey(tx, { accountId: actor.accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'api-key.delete', subject: `api-key:${id}` });
}

/** Revokes all keys that a user made, because the user is deleted. Call it in a transaction. */
export async function revokeKeysOfUser(tx: Db, actor: Author, { userId }: { userId: number }): Promise<void> {
  const detail = { reason: `user:${userId} was deleted` };
  for (const { id } of await deleteKeysOfUser(tx, { accountId: actor.accountId, userId }))
    await recordAudit(tx, actor, { action: 'api-key.delete', subject: `api-key:${id}`, detail });
}

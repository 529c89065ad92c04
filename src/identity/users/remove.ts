import { revokeKeysOfUser } from '../api-keys/revoke.ts';
import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { findWithin } from './change.ts';
import { deleteUser } from './sql.ts';

/**
 * Removes a person and revokes the keys that they made: who leaves takes nothing along. A key that is to stay is made
 * anew by somebody who stays. Call it in a transaction. Errors: 404 for an unknown or foreign id, 403 when the actor may
 * not touch that role, 409 for the last owner.
 */
export async function removeUser(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const { username, role } = await findWithin(tx, actor, { id, leavesOwners: true });
  await revokeKeysOfUser(tx, actor, { userId: id });
  await deleteUser(tx, { accountId: actor.accountId, id });
  await recordAudit(tx, actor, { action: 'user.delete', subject: `user:${id}`, detail: { username, role } });
}

import { revokeKeysOfUser } from '../api-keys/revoke.ts';
import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Role } from '../../platform/lib/scope.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { requireAuthority } from '../roles.ts';
import { type Hashed, refuseGuessablePassword } from './password.ts';
import {
  deleteUser,
  findUser,
  listAdminsForUpdate,
  updateIsOperator,
  updatePassword,
  updateRole,
  type UserRow,
} from './sql.ts';

export type UserChange = {
  readonly id: number;
  readonly role?: Role | undefined;
  readonly newPassword?: Hashed | undefined;
};

/**
 * Changes the role of a user, the password, or both. The old ones stop working with the user's next request, and a new
 * password also ends the user's sessions. Call it in a transaction. Errors: 404 for an unknown or foreign id; 403 when
 * the actor may not manage that role or the new one, when the user is an operator of the gateway and the actor is not,
 * and for the actor's own password, which needs the current one (`changeOwnPassword`); 409 for the role of the last
 * admin; 400 when the password is the username.
 */
export async function changeUser(tx: Db, actor: Actor, { id, role, newPassword }: UserChange): Promise<UserRow> {
  const user = await findChangeableUser(tx, actor, { id, leavesAdmins: role !== undefined && role !== 'admin' });
  if (role !== undefined) await changeRole(tx, actor, user, role);
  if (newPassword !== undefined) await resetPassword(tx, actor, user, newPassword);
  return { ...user, role: role ?? user.role };
}

/**
 * Removes a user and revokes the keys that the user made, so that no one who leaves keeps access. A key that must live
 * on has to be created again by another user. Call it in a transaction. Errors: 404 for an unknown or foreign id, 403
 * when the actor may not manage that role, 409 for the last admin.
 */
export async function removeUser(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const { username, role } = await findChangeableUser(tx, actor, { id, leavesAdmins: true });
  await revokeKeysOfUser(tx, actor, { userId: id });
  await deleteUser(tx, { accountId: actor.accountId, id });
  await recordAudit(tx, actor, { action: 'user.delete', subject: `user:${id}`, detail: { username, role } });
}

/**
 * Makes a user of the author's account an operator of the gateway, or revokes that; it takes effect with the user's
 * next request. Does nothing if it is so already. Call it in a transaction with the rights of the program: those of an
 * account are not enough.
 */
export async function changeOperator(
  tx: Db,
  author: Author,
  change: { id: number; isOperator: boolean },
): Promise<void> {
  const { id, isOperator } = change;
  if ((await updateIsOperator(tx, { accountId: author.accountId, id, isOperator })) === 0) return;
  await recordAudit(tx, author, { action: 'user.operator', subject: `user:${id}`, detail: { isOperator } });
}

/**
 * Finds a user whom the actor may change. With `leavesAdmins` it locks the admins of the account, so that concurrent
 * changes wait for each other and the last admin stays one.
 */
async function findChangeableUser(
  tx: Db,
  actor: Actor,
  { id, leavesAdmins }: { id: number; leavesAdmins: boolean },
): Promise<UserRow> {
  const { accountId } = actor;
  const admins = leavesAdmins ? await listAdminsForUpdate(tx, { accountId }) : [];
  const user = await findUser(tx, { accountId, id });
  if (!user) throw new AppError('not_found');
  requireAuthority(actor, user.role);
  // The password of an operator opens every account.
  if (user.isOperator && actor.isOperator !== true)
    throw new AppError('forbidden', {
      message: 'This user is an operator of the gateway: only operators may do this',
    });
  if (admins.length === 1 && admins[0]?.id === id)
    throw new AppError('conflict', { message: 'The account needs an admin: make another user an admin first' });
  return user;
}

async function changeRole(tx: Db, actor: Actor, { id, username, role: from }: UserRow, to: Role): Promise<void> {
  if (from === to) return;
  requireAuthority(actor, to);
  await updateRole(tx, { accountId: actor.accountId, id, role: to });
  await recordAudit(tx, actor, { action: 'user.role', subject: `user:${id}`, detail: { username, from, to } });
}

async function resetPassword(tx: Db, actor: Actor, { id, username }: UserRow, to: Hashed): Promise<void> {
  const { password, passwordHash } = to;
  if (id === actor.userId)
    throw new AppError('forbidden', {
      message: 'Change your own password with PUT /users/me/password, which requires the current one',
    });
  refuseGuessablePassword('password', { username, password });
  await updatePassword(tx, { accountId: actor.accountId, userId: id, passwordHash });
  await endSessionsOfUser(tx, actor, { userId: id, exceptId: null, reason: 'the password was set' });
  await recordAudit(tx, actor, { action: 'user.password', subject: `user:${id}` });
}

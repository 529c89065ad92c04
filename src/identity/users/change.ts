import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import type { Role } from '../../platform/lib/scope.ts';
import { endSessionsOfUser } from '../sessions/end-of-user.ts';
import { requireAuthority } from '../roles.ts';
import { hashPassword, refuseEasyPassword } from './password.ts';
import { findUser, listOwnersForUpdate, movePassword, moveRole, type UserRow } from './sql.ts';

export type UserChange = {
  readonly id: number;
  readonly role?: Role | undefined;
  readonly password?: string | undefined;
};

/**
 * Gives a person another role, another password, or both; what they did with the old ones ends with their next request,
 * and with a password their sessions. Call it in a transaction. Errors: 404 for an unknown or foreign id; 403 when the
 * actor may not touch that role or give the new one, for an operator of the gateway unless the actor is one, and for the
 * actor's own password, which needs the current one (`changeOwnPassword`); 409 for the last owner's role; 400 when the
 * password is the username.
 */
export async function changeUser(tx: Db, actor: Actor, { id, role, password }: UserChange): Promise<UserRow> {
  const user = await findWithin(tx, actor, { id, leavesOwners: role !== undefined && role !== 'owner' });
  if (role !== undefined) await changeRole(tx, actor, user, role);
  if (password !== undefined) await resetPassword(tx, actor, user, password);
  return { ...user, role: role ?? user.role };
}

/**
 * The person of this id, if the actor may touch them. Whoever `leavesOwners` waits for others who do, and must not be
 * the last one.
 */
export async function findWithin(
  tx: Db,
  actor: Actor,
  { id, leavesOwners }: { id: number; leavesOwners: boolean },
): Promise<UserRow> {
  const { accountId } = actor;
  const owners = leavesOwners ? await listOwnersForUpdate(tx, { accountId }) : [];
  const user = await findUser(tx, { accountId, id });
  if (!user) throw new AppError('not_found');
  requireAuthority(actor, user.role);
  // Whoever has their password has every account.
  if (user.isOperator && actor.isOperator !== true)
    throw new AppError('forbidden', {
      message: 'This person is an operator of the gateway: only operators may do this',
    });
  if (owners.length === 1 && owners[0]?.id === id)
    throw new AppError('conflict', { message: 'The account needs an owner: make another one first' });
  return user;
}

async function changeRole(tx: Db, actor: Actor, { id, role: from }: UserRow, to: Role): Promise<void> {
  if (from === to) return;
  requireAuthority(actor, to);
  await moveRole(tx, { accountId: actor.accountId, id, role: to });
  await recordAudit(tx, actor, { action: 'user.role', subject: `user:${id}`, detail: { from, to } });
}

async function resetPassword(tx: Db, actor: Actor, { id, username }: UserRow, password: string): Promise<void> {
  if (id === actor.userId)
    throw new AppError('forbidden', {
      message: 'Your own password is changed with the current one, at /users/me/password',
    });
  refuseEasyPassword('password', { username, password });
  await movePassword(tx, { accountId: actor.accountId, userId: id, passwordHash: await hashPassword(password) });
  await endSessionsOfUser(tx, actor, { userId: id, exceptId: null, reason: 'the password was set' });
  await recordAudit(tx, actor, { action: 'user.password', subject: `user:${id}` });
}

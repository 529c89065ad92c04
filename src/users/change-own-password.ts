import { recordAudit } from '../audit/record.ts';
import type { Db } from '../db/query.ts';
import { AppError, invalidFields } from '../errors.ts';
import type { Actor } from '../http/actor.ts';
import { endSessionsOfUser } from '../sessions/end-of-user.ts';
import { hashPassword, matchesPassword, refuseEasyPassword } from './password.ts';
import { findPassword, movePassword } from './sql.ts';

/**
 * Gives the person who calls another password; the old one ends with the next request, and so do
 * all sessions but the one that calls. Call it in a transaction.
 * Errors: 403 to a key, 400 when the current password is wrong or the new one is the username.
 */
export async function changeOwnPassword(
  tx: Db,
  actor: Actor,
  input: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { accountId, userId } = actor;
  const user = actor.kind === 'user' && userId !== null ? await findPassword(tx, { accountId, userId }) : undefined;
  if (!user || userId === null) throw new AppError('forbidden', { message: 'Only a person has a password' });
  if (!(await matchesPassword(input.currentPassword, user.passwordHash)))
    throw invalidFields([{ field: 'currentPassword', message: 'is not the current password' }]);
  refuseEasyPassword('newPassword', { username: user.username, password: input.newPassword });
  await movePassword(tx, { accountId, userId, passwordHash: await hashPassword(input.newPassword) });
  const exceptId = actor.session?.id ?? null;
  await endSessionsOfUser(tx, actor, { userId, exceptId, reason: 'the password was changed' });
  await recordAudit(tx, actor, { action: 'user.password', subject: `user:${userId}` });
}

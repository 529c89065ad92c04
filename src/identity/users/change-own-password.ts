import type { Pool } from 'pg';
import { recordAudit } from '../audit/record.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor, CheckPassword } from '../../platform/lib/actor.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { hashPassword, refuseGuessablePassword } from './password.ts';
import { updatePassword } from './sql.ts';

type Deps = { readonly pool: Pool; readonly checkPassword: CheckPassword };
type Input = { readonly currentPassword: string; readonly newPassword: string; readonly ip: string };

/**
 * Changes the password of the calling user. The old password stops working with the next request, and all sessions but
 * the calling one end. The current password is checked as in a login and within the same limits, so that a stolen
 * session cannot be used to guess it. Errors: 403 for a key and for an operator in another account, 400 when the
 * current password is wrong or the new one is the username, 429 after too many wrong passwords.
 */
export async function changeOwnPassword({ pool, checkPassword }: Deps, actor: Actor, input: Input): Promise<void> {
  const { kind, accountId, userId, username } = actor;
  if (kind !== 'user' || userId === null || username === null)
    throw new AppError('forbidden', { message: 'Passwords are only for users in their own account' });
  const { currentPassword, newPassword, ip } = input;
  const { passwordHash: from } = await checkPassword({ username, password: currentPassword }, ip).catch(asField);
  refuseGuessablePassword('newPassword', { username, password: newPassword });
  const passwordHash = await hashPassword(newPassword, { by: actor.accountId });
  await tenantTransaction(pool, actor, async (tx) => {
    if ((await updatePassword(tx, { accountId, userId, passwordHash, from })) === 0) throw wrong();
    const exceptId = actor.session?.id ?? null;
    await endSessionsOfUser(tx, actor, { userId, exceptId, reason: 'the password was changed' });
    await recordAudit(tx, actor, { action: 'user.password', subject: `user:${userId}` });
  });
}

const wrong = () => invalidFields([{ field: 'currentPassword', message: 'is not the current password' }]);

/** The caller is authenticated already, so a wrong password is an error of its field. */
function asField(error: unknown): never {
  throw error instanceof AppError && error.code === 'unauthenticated' ? wrong() : error;
}

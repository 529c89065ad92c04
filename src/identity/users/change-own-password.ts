import type { Pool } from 'pg';
import { recordAudit } from '../audit/record.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor, CheckPassword } from '../../platform/http/actor.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { hashPassword, refuseGuessablePassword } from './password.ts';
import { updatePassword } from './sql.ts';

type Deps = { readonly pool: Pool; readonly checkPassword: CheckPassword };
type Input = { readonly currentPassword: string; readonly newPassword: string; readonly ip: string };

/**
 * Gives the person who calls another password; the old one ends with the next request, and so do all sessions but the one
 * that calls. The current one is checked as when somebody comes in, within the same limits: a session that was stolen
 * must not become a way to guess it. Errors: 403 to a key and to an operator in another account, 400 when the current
 * password is wrong or the new one is the username, 429 after too many wrong ones.
 */
export async function changeOwnPassword({ pool, checkPassword }: Deps, actor: Actor, input: Input): Promise<void> {
  const { kind, accountId, userId, username } = actor;
  if (kind !== 'user' || userId === null || username === null)
    throw new AppError('forbidden', { message: 'Only a person of the account has a password in it' });
  const { currentPassword, newPassword, ip } = input;
  const { passwordHash: from } = await checkPassword({ username, password: currentPassword }, ip).catch(asField);
  refuseGuessablePassword('newPassword', { username, password: newPassword });
  const passwordHash = await hashPassword(newPassword);
  await tenantTransaction(pool, actor, async (tx) => {
    if ((await updatePassword(tx, { accountId, userId, passwordHash, from })) === 0) throw wrong();
    const exceptId = actor.session?.id ?? null;
    await endSessionsOfUser(tx, actor, { userId, exceptId, reason: 'the password was changed' });
    await recordAudit(tx, actor, { action: 'user.password', subject: `user:${userId}` });
  });
}

const wrong = () => invalidFields([{ field: 'currentPassword', message: 'is not the current password' }]);

/** Who calls is known: it is the field that is wrong. */
function asField(error: unknown): never {
  throw error instanceof AppError && error.code === 'unauthenticated' ? wrong() : error;
}

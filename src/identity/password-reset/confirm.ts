import type { Pool } from 'pg';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { type AppError, invalidFields } from '../../platform/errors.ts';
import { recordAudit } from '../audit/record.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { networkOf } from '../../platform/lib/address.ts';
import { hashOfToken } from '../sessions/token.ts';
import { hashPassword, refuseGuessablePassword } from '../users/password.ts';
import { updatePassword } from '../users/sql.ts';
import { endReset, endResetsOfUser, findReset } from './sql.ts';

/**
 * Sets the password of the user to whom a link belongs, and ends all their sessions and links. The user is not signed
 * in by this, and second factors stay. Errors: 400 for a link that is unknown, used or expired, and for a password that
 * equals the username; the link then stays valid.
 */
export async function confirmReset(
  pool: Pool,
  { token, password, ip }: { readonly token: string; readonly password: string; readonly ip: string },
): Promise<void> {
  const hash = hashOfToken(token);
  const found = hash && (await findReset(pool, { hash }));
  if (!hash || !found) throw ended();
  const { accountId, userId, username } = found;
  refuseGuessablePassword('password', { username, password });
  const passwordHash = await hashPassword(password, { by: networkOf(ip) });
  await tenantTransaction(pool, { accountId }, async (tx) => {
    if ((await endReset(tx, { accountId, hash })) === 0) throw ended();
    await updatePassword(tx, { accountId, userId, passwordHash });
    await endResetsOfUser(tx, { accountId, userId });
    const author = { kind: 'user', accountId, keyId: null, userId, username } as const;
    await endSessionsOfUser(tx, author, { userId, exceptId: null, reason: 'the password was reset' });
    await recordAudit(tx, author, { action: 'user.password', subject: `user:${userId}`, detail: { by: 'link' } });
  });
}

const ended = (): AppError =>
  invalidFields([{ field: 'token', message: 'is not valid: the link was used, has expired, or is incomplete' }]);

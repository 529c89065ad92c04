import type { Pool } from 'pg';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { networkOf } from '../../platform/lib/address.ts';
import { scopesOfRole } from '../../platform/lib/scope.ts';
import { recordAudit } from '../audit/record.ts';
import { requireAuthority } from '../roles.ts';
import { hashOfToken } from '../sessions/token.ts';
import { hashPassword, refuseGuessablePassword } from '../users/password.ts';
import { insertUser } from '../users/sql.ts';
import { deleteAccepted, findOpenInvitation, type OpenInvitation } from './sql.ts';

/** Finds the invitation of a link. Errors: 400 for a link that is unknown, used, revoked or expired. */
export async function findInvited(pool: Pool, { token }: { readonly token: string }): Promise<OpenInvitation> {
  const hash = hashOfToken(token);
  const found = hash && (await findOpenInvitation(pool, { hash }));
  if (!found) throw ended();
  return found;
}

/**
 * Creates the user of an invitation, with the password that the person chose; the link ends. Errors: 400 for a link
 * that is unknown, used, revoked or expired, and for a password that equals the username; 403 when the inviting user
 * may no longer grant that role; 409 when the username was taken in the meantime.
 */
export async function acceptInvitation(
  pool: Pool,
  { token, password, ip }: { readonly token: string; readonly password: string; readonly ip: string },
): Promise<{ readonly username: string }> {
  const { id, accountId, email: username, role, inviterRole } = await findInvited(pool, { token });
  if (inviterRole !== null) requireAuthority({ role: inviterRole, operations: scopesOfRole(inviterRole) }, role);
  refuseGuessablePassword('password', { username, password });
  const [hash, passwordHash] = [hashOfToken(token), await hashPassword(password, { by: networkOf(ip) })];
  await tenantTransaction(pool, { accountId }, async (tx) => {
    if (!hash || (await deleteAccepted(tx, { accountId, hash })) === 0) throw ended();
    const user = await insertUser(tx, { accountId, username, passwordHash, role });
    if (!user) throw new AppError('conflict', { message: 'This username is taken' });
    const author = { kind: 'user', accountId, keyId: null, userId: user.id, username } as const;
    const detail = { username, role, invitation: id };
    await recordAudit(tx, author, { action: 'user.create', subject: `user:${user.id}`, detail });
  });
  return { username };
}

const ended = (): AppError =>
  invalidFields([{ field: 'token', message: 'is not valid: the invitation was accepted or revoked, or has expired' }]);

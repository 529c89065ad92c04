import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Role } from '../../platform/lib/scope.ts';
import { requireAuthority } from '../roles.ts';
import { type Hashed, refuseGuessablePassword } from './password.ts';
import { insertUser, type UserRow } from './sql.ts';

export type UserInput = Hashed & { readonly username: string; readonly role: Role };

/**
 * Creates a user of the actor's account. Call it in a transaction. Errors: 403 when the actor may not grant that role,
 * 400 when the password is the username, 409 when the username is taken, in this account or another.
 */
export async function addUser(tx: Db, actor: Actor, input: UserInput): Promise<UserRow> {
  const { username, role, passwordHash } = input;
  requireAuthority(actor, role);
  refuseGuessablePassword('password', input);
  const user = await insertUser(tx, { accountId: actor.accountId, username, passwordHash, role });
  if (!user) throw new AppError('conflict', { message: 'This username is taken' });
  await recordAudit(tx, actor, { action: 'user.create', subject: `user:${user.id}`, detail: { username, role } });
  return { ...user, username, role, isOperator: false };
}

import { AppError } from '../platform/errors.ts';
import type { Actor, Session } from '../platform/lib/actor.ts';
import { type Role, scopesOfRole } from '../platform/lib/scope.ts';

/** Returns the effective role of a session: in another account an operator has the role of an owner. */
export const roleIn = (accountId: number, session: Pick<Session, 'accountId' | 'role'>): Role =>
  accountId === session.accountId ? session.role : 'owner';

/**
 * Throws 403 unless this caller may create, change and remove users of that role. Only owners may manage owners, and
 * nobody may grant scopes that they lack themselves, so that a key with few scopes cannot create a user with many.
 */
export function requireAuthority({ role: own, operations }: Pick<Actor, 'role' | 'operations'>, role: Role): void {
  if (role === 'owner' && own !== 'owner') throw new AppError('forbidden', { message: 'Only an owner may do this' });
  const lacking = [...scopesOfRole(role)].filter((scope) => !operations.has(scope));
  if (lacking.length > 0)
    throw new AppError('forbidden', {
      message: `These credentials lack the scopes ${lacking.join(', ')} of that role`,
    });
}

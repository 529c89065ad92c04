import { AppError } from '../platform/errors.ts';
import type { Session } from '../platform/lib/actor.ts';
import { type Holder, mayAccess, type Role, roleMay, SCOPES } from '../platform/lib/scope.ts';

/** Returns the effective role of a session: in another account an operator of the gateway has the role of an admin. */
export const roleIn = (accountId: number, session: Pick<Session, 'accountId' | 'role'>): Role =>
  accountId === session.accountId ? session.role : 'admin';

/**
 * Throws 403 unless this caller may create, change and remove users of that role. Callers cannot grant what they lack
 * themselves, so that a key with few scopes cannot create a user with many.
 */
export function requireAuthority(caller: Holder, role: Role): void {
  const lacking = SCOPES.filter((scope) =>
    (['read', 'write'] as const).some((access) => roleMay(role, scope, access) && !mayAccess(caller, scope, access)),
  );
  if (lacking.length > 0)
    throw new AppError('forbidden', {
      message: `These credentials lack rights of the role ${role}, in the scopes ${lacking.join(', ')}`,
    });
}

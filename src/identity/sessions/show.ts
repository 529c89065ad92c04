import type { Static } from 'typebox';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { toChannels } from '../../platform/lib/channel.ts';
import { roleMay, SCOPES, scopesOfRole } from '../../platform/lib/scope.ts';
import { roleIn } from '../roles.ts';
import type { SessionOut } from './schema.ts';
import { findShownAccount } from './sql.ts';

/**
 * Describes a session: its user, the account that it is looking at, and what it may do there. `db` must have the rights
 * of that account. Errors: 403 for credentials that are not a session.
 */
export async function describeSession(
  db: Db,
  { accountId, isOperator = false, session }: Pick<Actor, 'accountId' | 'isOperator' | 'session'>,
): Promise<Static<typeof SessionOut>> {
  if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
  const account = await findShownAccount(db, { accountId });
  if (!account) throw new AppError('not_found');
  const role = roleIn(accountId, session);
  const { method, mustEnrol } = session;
  const operations = mustEnrol ? new Set() : scopesOfRole(role);
  return {
    user: { id: session.userId, username: session.username, role: session.role, isOperator },
    account: { ...account, channels: toChannels(account.channels) },
    ownAccountId: session.accountId,
    role,
    operations: SCOPES.filter((scope) => operations.has(scope)),
    writable: SCOPES.filter((scope) => operations.has(scope) && roleMay(role, scope, 'write')),
    method,
    mustEnrol,
    createdAt: session.createdAt.toISOString(),
    expiresAt: session.expiresAt.toISOString(),
  };
}

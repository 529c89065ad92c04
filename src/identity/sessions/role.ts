import type { Session } from '../../platform/http/actor.ts';
import type { Role } from '../../platform/lib/scope.ts';

/** The role in force: in another account an operator has that of an owner. */
export const roleIn = (accountId: number, session: Pick<Session, 'accountId' | 'role'>): Role =>
  accountId === session.accountId ? session.role : 'owner';

import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor, Session, SignInMethod } from '../../platform/lib/actor.ts';
import { canonicalAddress } from '../../platform/lib/address.ts';
import { deleteSurplusSessions, insertSession } from './sql.ts';
import { generateToken } from './token.ts';

const MAX_USER_AGENT_LENGTH = 200;
/** More browsers than a person has. A program that keeps signing in ends its oldest sessions. */
const MAX_SESSIONS_PER_USER = 50;

export type SignedIn = {
  /** Cannot be shown again. */
  readonly token: string;
  readonly session: Session;
};

export type SignInInput = {
  readonly method: SignInMethod;
  /** The stored hash that the password matched; null if the method needs no password. */
  readonly passwordHash: string | null;
  readonly ip: string;
  readonly userAgent: string;
};

/** The parts of an actor that a session is started for. */
export type SignInUser = Pick<Actor, 'kind' | 'accountId' | 'keyId' | 'userId' | 'username' | 'role'>;

/**
 * Starts a session for a user who has proven to be who they are, always with a new token. Call it in a transaction.
 * Errors: 401 when the password was changed in the meantime or the user is gone, 403 for actors who are not users.
 */
export async function signIn(tx: Db, actor: SignInUser, input: SignInInput): Promise<SignedIn> {
  const { accountId, userId, username, role } = actor;
  if (userId === null || username === null) throw new AppError('forbidden');
  const { token, hash } = generateToken();
  const address = canonicalAddress(input.ip) ?? null;
  const userAgent = input.userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  const { passwordHash, method } = input;
  const made = await insertSession(tx, { accountId, userId, passwordHash, method, hash, address, userAgent });
  if (!made) throw new AppError('unauthenticated');
  await deleteSurplusSessions(tx, { accountId, userId, keep: MAX_SESSIONS_PER_USER });
  const detail = { address, userAgent, method };
  await recordAudit(tx, actor, { action: 'session.create', subject: `session:${made.id}`, detail });
  const { mustEnrol } = made;
  return { token, session: { ...made, accountId, userId, username, role, method, isProven: true, mustEnrol } };
}

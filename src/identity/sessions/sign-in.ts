import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { canonicalAddress } from '../../platform/lib/address.ts';
import { deleteSurplusSessions, insertSession } from './sql.ts';
import { generateToken } from './token.ts';

const MAX_USER_AGENT_LENGTH = 200;
/** More browsers than a person has. A program that keeps signing in ends its oldest sessions. */
const MAX_SESSIONS_PER_USER = 50;

export type SignedIn = {
  /** Cannot be shown again. */
  readonly token: string;
  /** The actor with the session. */
  readonly actor: Actor;
};

/**
 * Starts a session for a user whose password was right, always with a new token. Call it in a transaction.
 * Errors: 401 when the password was changed in the meantime, 403 for actors who are not users.
 */
export async function signIn(
  tx: Db,
  actor: Actor,
  input: { passwordHash: string; ip: string; userAgent: string },
): Promise<SignedIn> {
  const { accountId, userId, username, role } = actor;
  if (userId === null || username === null) throw new AppError('forbidden');
  const { token, hash } = generateToken();
  const address = canonicalAddress(input.ip) ?? null;
  const userAgent = input.userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  const { passwordHash } = input;
  const made = await insertSession(tx, { accountId, userId, passwordHash, hash, address, userAgent });
  if (!made) throw new AppError('unauthenticated');
  await deleteSurplusSessions(tx, { accountId, userId, keep: MAX_SESSIONS_PER_USER });
  const detail = { address, userAgent };
  await recordAudit(tx, actor, { action: 'session.create', subject: `session:${made.id}`, detail });
  return { token, actor: { ...actor, session: { ...made, accountId, userId, username, role } } };
}

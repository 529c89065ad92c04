import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor, Session } from '../../platform/lib/actor.ts';
import { requireAuthority } from '../roles.ts';
import { deletePendingSignInsOfUser, deleteSession, deleteSessionsOfUser, findSession } from './sql.ts';

/**
 * Ends one of the actor's own sessions or, with the scope `keys`, one of another user of the account: its next request
 * gets 401. Call it in a transaction. Errors: 404 for an unknown or foreign id, and for another user's session without
 * the scope; 403 when the actor may not manage that user's role.
 */
export async function endSession(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const session = await findSession(tx, { accountId: actor.accountId, id });
  const isOwn = session !== undefined && actor.kind === 'user' && session.userId === actor.userId;
  if (!session || !(isOwn || actor.operations.has('keys'))) throw new AppError('not_found');
  if (!isOwn) requireAuthority(actor, session.role);
  await deleteAudited(tx, actor, session);
}

/**
 * Signs a user out, whichever account the session is looking at. Call it in a transaction of the user's own account.
 */
export const signOut = (tx: Db, { id, accountId, userId, username }: Session): Promise<void> =>
  deleteAudited(tx, { kind: 'user', accountId, keyId: null, userId, username }, { id, userId });

async function deleteAudited(tx: Db, author: Author, { id, userId }: { id: number; userId: number }): Promise<void> {
  if ((await deleteSession(tx, { accountId: author.accountId, id })) === 0) return;
  await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId } });
}

/**
 * Ends all sessions of a user of the author's account except `exceptId`, including those that still await a second
 * factor, and records the reason. Returns the number of ended sessions. Call it in a transaction.
 */
export async function endSessionsOfUser(
  tx: Db,
  author: Author,
  { userId, exceptId, reason }: { userId: number; exceptId: number | null; reason: string },
): Promise<number> {
  const { accountId } = author;
  // A pending sign-in that completes meanwhile has its session committed once its row can be deleted.
  await deletePendingSignInsOfUser(tx, { accountId, userId });
  const ended = await deleteSessionsOfUser(tx, { accountId, userId, exceptId });
  for (const { id } of ended)
    await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId, reason } });
  return ended.length;
}

/**
 * Ends all other sessions of the user of this session and returns their number. Call it in a transaction of the user's
 * own account.
 */
export const endOtherSessions = (tx: Db, { id, accountId, userId, username }: Session): Promise<number> =>
  endSessionsOfUser(
    tx,
    { kind: 'user', accountId, keyId: null, userId, username },
    { userId, exceptId: id, reason: 'the user ended all others' },
  );

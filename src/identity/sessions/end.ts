import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor, Session } from '../../platform/http/actor.ts';
import { requireAuthority } from '../roles.ts';
import { deleteSession, findSession } from './sql.ts';

/**
 * Ends one's own session, or as somebody who has the scope `keys` that of another person of the account: its next
 * request gets 401. Call it in a transaction. Errors: 404 for an unknown or foreign id, and for that of another person
 * without the scope; 403 when the actor may not touch that person's role.
 */
export async function endSession(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const session = await findSession(tx, { accountId: actor.accountId, id });
  const isOwn = session !== undefined && actor.kind === 'user' && session.userId === actor.userId;
  if (!session || !(isOwn || actor.operations.has('keys'))) throw new AppError('not_found');
  if (!isOwn) requireAuthority(actor, session.role);
  await end(tx, actor, session);
}

/** Signs a person out, in whichever account they look. Call it in a transaction of their own account. */
export const signOut = (tx: Db, { id, accountId, userId, username }: Session): Promise<void> =>
  end(tx, { kind: 'user', accountId, keyId: null, userId, username }, { id, userId });

async function end(tx: Db, author: Author, { id, userId }: { id: number; userId: number }): Promise<void> {
  if ((await deleteSession(tx, { accountId: author.accountId, id })) === 0) return;
  await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId } });
}

import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { deleteSessionsOfUser } from './sql.ts';

/** Ends all sessions of a person of the author's account, but this one, for a reason. Call it in a transaction. */
export async function endSessionsOfUser(
  tx: Db,
  author: Author,
  { userId, exceptId, reason }: { userId: number; exceptId: number | null; reason: string },
): Promise<void> {
  for (const { id } of await deleteSessionsOfUser(tx, { accountId: author.accountId, userId, exceptId }))
    await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId, reason } });
}

import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import { claimBook } from '../book/sql.ts';
import { setStatementTimeoutMinutes } from '../../../platform/db/transaction.ts';
import type { Db } from '../../../platform/db/query.ts';
import { deleteMembers } from './members/sql.ts';
import { claimLists, deleteLists } from './sql.ts';

const MAX_MINUTES = 10;

/**
 * Deletes lists and their associations; their contacts stay. The rows of the lists stay too, marked as deleted.
 * `notFound` has the ids of lists that are unknown, belong to another account, or were deleted before. Call it in a
 * transaction.
 */
export async function removeLists(
  tx: Db,
  actor: Author,
  { ids }: { ids: readonly number[] },
): Promise<{ deleted: number; notFound: number[] }> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  await claimBook(tx, { accountId, to: 'associate' });
  const found = await claimLists(tx, { accountId, ids });
  if (found.length > 0) {
    await deleteMembers(tx, { accountId, listIds: found, contacts: { allBut: [] } });
    await deleteLists(tx, { accountId, ids: found });
    await recordAudit(tx, actor, { action: 'contact-list.delete', subject: `contact-list:${found.join(',')}` });
  }
  return { deleted: found.length, notFound: [...new Set(ids).difference(new Set(found))] };
}

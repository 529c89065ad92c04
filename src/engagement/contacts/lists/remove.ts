import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import { claimBook } from '../book/sql.ts';
import { allowMinutes } from '../../../platform/db/long-statements.ts';
import type { Db } from '../../../platform/db/query.ts';
import { deleteMembers } from './members/sql.ts';
import { claimLists, deleteLists } from './sql.ts';

const MINUTES = 10;

/**
 * Deletes lists and their associations; their contacts stay. The lists themselves are kept, marked as deleted. Call it
 * in a transaction. What is unknown, foreign or deleted already comes back in `notFound`.
 */
export async function removeLists(
  tx: Db,
  actor: Author,
  { ids }: { ids: readonly number[] },
): Promise<{ deleted: number; notFound: number[] }> {
  const { accountId } = actor;
  await allowMinutes(tx, MINUTES);
  await claimBook(tx, { accountId, to: 'associate' });
  const found = await claimLists(tx, { accountId, ids });
  if (found.length > 0) {
    await deleteMembers(tx, { accountId, listIds: found, contacts: { allBut: [] } });
    await deleteLists(tx, { accountId, ids: found });
    await recordAudit(tx, actor, { action: 'contact-list.delete', subject: `contact-list:${found.join(',')}` });
  }
  return { deleted: found.length, notFound: [...new Set(ids)].filter((id) => !found.includes(id)) };
}

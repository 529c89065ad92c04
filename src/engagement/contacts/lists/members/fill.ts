import type { Db } from '../../../../platform/db/query.ts';
import { claimLists, updateListCounts } from '../sql.ts';
import { insertMembers } from './sql.ts';

/**
 * Puts contacts that are there into one list; those that are in it stay. For work that goes on through many transactions
 * and stands in the audit log by itself. False when the list is no more; then nothing is done. The caller has claimed the
 * book (src/engagement/contacts/book/sql.ts).
 */
export async function fillList(
  tx: Db,
  { accountId, listId, contactIds }: { accountId: number; listId: number; contactIds: readonly number[] },
): Promise<boolean> {
  const [claimed] = await claimLists(tx, { accountId, ids: [listId] });
  if (claimed === undefined) return false;
  const added = await insertMembers(tx, { accountId, listIds: [listId], contacts: { ids: contactIds } });
  const moves = added.flatMap(({ created }) => (created > 0 ? [{ listId, by: created }] : []));
  if (moves.length > 0) await updateListCounts(tx, { accountId, moves });
  return true;
}

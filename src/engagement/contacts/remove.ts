import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { setStatementTimeoutMinutes } from '../../platform/db/transaction.ts';
import type { Db } from '../../platform/db/query.ts';
import { removeFromAllLists } from './lists/members/associate.ts';
import { claimBook, updateContactCount } from './book/sql.ts';
import { listUnknownContacts } from './lists/members/sql.ts';
import * as db from './sql.ts';

export type RemovedContacts = { readonly deleted: number; readonly notFound: number[] };

const MAX_MINUTES = 10;
/** Number of ids that an audit entry may have. */
const MAX_AUDITED_IDS = 1000;

/**
 * Deletes contacts permanently and removes them from their lists: those with `ids`, or all but those with `notIds`.
 * Opt-outs stay, by number. `notFound` has the given ids that do not exist. Call it in a transaction.
 */
export async function removeContacts(
  tx: Db,
  actor: Author,
  input: { ids: readonly number[] } | { notIds: readonly number[] },
): Promise<RemovedContacts> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  await claimBook(tx, { accountId, to: 'change' });
  const named = 'ids' in input ? input.ids : input.notIds;
  const notFound = await listUnknownContacts(tx, { accountId, ids: named });
  const deleted =
    'ids' in input ? await removeThese(tx, accountId, input.ids) : await removeAllBut(tx, accountId, input.notIds);
  if (deleted === 0) return { deleted, notFound };
  await updateContactCount(tx, { accountId, by: -deleted });
  const detail = { deleted, ['ids' in input ? 'ids' : 'notIds']: named.slice(0, MAX_AUDITED_IDS) };
  await recordAudit(tx, actor, { action: 'contact.delete', subject: 'contacts', detail });
  return { deleted, notFound };
}

async function removeThese(tx: Db, accountId: number, ids: readonly number[]): Promise<number> {
  await removeFromAllLists(tx, accountId, { ids });
  await db.deleteActivity(tx, { accountId, ids });
  return db.deleteContacts(tx, { accountId, ids });
}

async function removeAllBut(tx: Db, accountId: number, ids: readonly number[]): Promise<number> {
  await removeFromAllLists(tx, accountId, { allBut: ids });
  await db.deleteOtherActivity(tx, { accountId, ids });
  return db.deleteOtherContacts(tx, { accountId, ids });
}

import { recordAudit, type Author } from '../../../../identity/audit/record.ts';
import { claimBook } from '../../book/sql.ts';
import { setStatementTimeoutMinutes } from '../../../../platform/db/transaction.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../../../platform/errors.ts';
import { claimLists, updateListCounts } from '../sql.ts';
import * as db from './sql.ts';

/** The contacts to be added to or removed from lists. Ids may occur several times. */
export type Association = { readonly listIds: readonly number[]; readonly contacts: db.ContactSelection };

/** A requested association. `created`: it did not exist before. */
export type Added = db.Member & { readonly created: boolean };

/** `associations`: those that were requested, new and existing; null when there are more than `MAX_IDS`. */
export type AddResult = {
  readonly associations: Added[] | null;
  readonly created: number;
  readonly existing: number;
};

export type RemoveResult = { readonly deleted: number; readonly notFound: number[] };

/** Above this, the response counts the associations instead of listing their ids. */
const MAX_IDS = 10_000;
const MAX_MINUTES = 10;

/**
 * Adds contacts to lists: one association for each pair; existing ones stay as they are. A million contacts take one
 * statement. Call it in a transaction. Errors: 400 naming lists and contacts that the account does not have; then
 * nothing is done.
 */
export async function addToLists(tx: Db, actor: Author, input: Association): Promise<AddResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'contacts that must exist');
  const which = { accountId, listIds, contacts, limit: MAX_IDS + 1 };
  const before = new Set((await db.listMembers(tx, which)).map(({ id }) => id));
  const added = await insertAndCount(tx, { accountId, listIds, contacts });
  const created = sum(added.map((list) => list.created));
  const asked = sum(added.map((list) => list.chosen));
  await recordAudit(tx, actor, { action: 'contact-list.add', subject: subjectOf(listIds), detail: { created } });
  const counts = { created, existing: asked - created };
  if (asked > MAX_IDS) return { associations: null, ...counts };
  const members = await db.listMembers(tx, which);
  return { associations: members.map((member) => ({ ...member, created: !before.has(member.id) })), ...counts };
}

/**
 * Removes contacts from lists; contacts and lists stay. `notFound` has the ids of contacts that were in none of the
 * lists, including unknown ones. Call it in a transaction. Errors: 400 naming lists that the account does not have.
 */
export async function removeFromLists(tx: Db, actor: Author, input: Association): Promise<RemoveResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'any contacts');
  const notFound =
    'ids' in contacts ? await db.listNonMembers(tx, { accountId, listIds, contactIds: contacts.ids }) : [];
  const deleted = await removeAndCount(tx, { accountId, listIds, contacts });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf(listIds), detail: { deleted } });
  return { deleted, notFound };
}

/** Deletes one association. Call it in a transaction. Errors: 404. */
export async function removeAssociation(tx: Db, actor: Author, { id }: { id: number }): Promise<RemoveResult> {
  const { accountId } = actor;
  await claimBook(tx, { accountId, to: 'associate' });
  const member = await db.findMember(tx, { accountId, id });
  if (!member) throw new AppError('not_found');
  const { listId } = member;
  await claimLists(tx, { accountId, ids: [listId] });
  // Another transaction may have removed it while this one waited for the list.
  if ((await db.deleteMember(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await updateListCounts(tx, { accountId, moves: [{ listId, by: -1 }] });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf([listId]), detail: { deleted: 1 } });
  return { deleted: 1, notFound: [] };
}

/**
 * Removes contacts that are about to be deleted from all lists. The caller has claimed the book with the purpose
 * `change`, so that no other transaction is changing any list.
 */
export const removeFromAllLists = (tx: Db, accountId: number, contacts: db.ContactSelection): Promise<number> =>
  removeAndCount(tx, { accountId, listIds: null, contacts });

/**
 * Adds existing contacts to one list; those that are in it already stay. Writes no audit entry: for work that spans
 * many transactions and has its own audit entry. Returns false when the list has been deleted; then nothing is done.
 * The caller has claimed the book.
 */
export async function addImportedContacts(
  tx: Db,
  { accountId, listId, contactIds }: { accountId: number; listId: number; contactIds: readonly number[] },
): Promise<boolean> {
  const [claimed] = await claimLists(tx, { accountId, ids: [listId] });
  if (claimed === undefined) return false;
  await insertAndCount(tx, { accountId, listIds: [listId], contacts: { ids: contactIds } });
  return true;
}

type Addition = {
  readonly accountId: number;
  readonly listIds: readonly number[];
  readonly contacts: db.ContactSelection;
};

async function insertAndCount(tx: Db, addition: Addition): Promise<db.AddedToList[]> {
  const added = await db.insertMembers(tx, addition);
  const moves = added.flatMap(({ listId, created }) => (created > 0 ? [{ listId, by: created }] : []));
  if (moves.length > 0) await updateListCounts(tx, { accountId: addition.accountId, moves });
  return added;
}

type Removal = {
  readonly accountId: number;
  readonly listIds: readonly number[] | null;
  readonly contacts: db.ContactSelection;
};

async function removeAndCount(tx: Db, removal: Removal): Promise<number> {
  const removed = await db.deleteMembers(tx, removal);
  const moves = removed.map((list) => ({ listId: list.listId, by: -list.removed }));
  if (moves.length > 0) await updateListCounts(tx, { accountId: removal.accountId, moves });
  return sum(removed.map((list) => list.removed));
}

/** Locks the book and the lists, in this order, and rejects ids that do not exist. */
async function claimBookAndLists(
  tx: Db,
  accountId: number,
  input: Association,
  which: 'any contacts' | 'contacts that must exist',
): Promise<Association> {
  const listIds = distinct(input.listIds);
  const contacts = 'ids' in input.contacts ? { ids: distinct(input.contacts.ids) } : input.contacts;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  await claimBook(tx, { accountId, to: 'associate' });
  const known = new Set(await claimLists(tx, { accountId, ids: listIds }));
  const unknownContacts =
    which === 'any contacts' || !('ids' in contacts)
      ? []
      : await db.listUnknownContacts(tx, { accountId, ids: contacts.ids });
  const unknownLists = listIds.filter((id) => !known.has(id));
  const faults = [...unknownIdFaults('listIds', unknownLists), ...unknownIdFaults('contactIds', unknownContacts)];
  if (faults.length > 0) throw invalidFields(faults);
  return { listIds, contacts };
}

const MAX_NAMED_IDS = 100;

function unknownIdFaults(field: string, ids: readonly number[]): FieldError[] {
  if (ids.length === 0) return [];
  const more = ids.length > MAX_NAMED_IDS ? ` and ${ids.length - MAX_NAMED_IDS} more` : '';
  return [{ field, message: `unknown: ${ids.slice(0, MAX_NAMED_IDS).join(', ')}${more}` }];
}

const distinct = (ids: readonly number[]): number[] => [...new Set(ids)].sort((a, b) => a - b);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
const subjectOf = (listIds: readonly number[]): string => `contact-list:${listIds.slice(0, MAX_NAMED_IDS).join(',')}`;

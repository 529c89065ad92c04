import { type Author, recordAudit } from '../accounts/audit.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  maybeOne,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { setStatementTimeoutMinutes } from '../core/db/transaction.ts';
import { AppError, existing, type FieldError, invalidFields } from '../core/errors.ts';
import { claimBook } from './limits.ts';
import { claimLists, deleteLists, updateListCounts } from './lists.ts';

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

type Of = { readonly accountId: number };

/** Lists the ids, among these, of contacts that the account does not have. */
export async function listUnknownContacts(
  db: Db,
  { accountId, ids }: Of & { ids: readonly number[] },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT u.id FROM unnest(${plainArray(ids)}::bigint[]) AS u (id)
        WHERE NOT EXISTS (SELECT FROM contact c WHERE c.account_id = ${accountId} AND c.id = u.id) ORDER BY u.id`,
  );
  return rows.map(({ id }) => id);
}

/** Selection of contacts: these, or all but these. */
type ContactSelection = { readonly ids: readonly number[] } | { readonly allBut: readonly number[] };

const isSelected = (chosen: ContactSelection, column: ReturnType<typeof sql>) =>
  'ids' in chosen
    ? sql`${column} = ANY(${plainArray(chosen.ids)}::bigint[])`
    : sql`${column} <> ALL(${plainArray(chosen.allBut)}::bigint[])`;

const ADDED_TO_LIST = columns({
  listId: as<number>('lists.id'),
  chosen: as<number>('(SELECT count(*) FROM chosen)'),
  /** Number of them that were not in the list before. */
  created: as<number>('count(added.list_id)'),
});

type AddedToList = RowOf<typeof ADDED_TO_LIST>;

/** Adds contacts to lists; existing associations stay. Returns the counts of each list. */
const insertMembers = (
  db: Db,
  { accountId, listIds, contacts }: Of & { listIds: readonly number[]; contacts: ContactSelection },
): Promise<AddedToList[]> =>
  many(
    db,
    sql`WITH chosen AS MATERIALIZED (
          SELECT c.id, lower(c.full_name) AS name_key FROM contact c
          WHERE c.account_id = ${accountId} AND ${isSelected(contacts, sql`c.id`)}),
        lists AS (SELECT unnest(${plainArray(listIds)}::bigint[]) AS id),
        added AS (
          INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
          SELECT ${accountId}, lists.id, chosen.id, chosen.name_key FROM lists, chosen
          ON CONFLICT (account_id, contact_id, list_id) DO NOTHING
          RETURNING list_id)
        SELECT ${ADDED_TO_LIST}
        FROM lists LEFT JOIN added ON added.list_id = lists.id GROUP BY lists.id ORDER BY lists.id`,
  );

const MEMBER = columns({
  id: as<number>('id'),
  listId: as<number>('list_id'),
  contactId: as<number>('contact_id'),
});
type Member = RowOf<typeof MEMBER>;

/** Lists up to `limit` associations of these contacts with these lists, in the order of lists and contacts. */
export const listMembers = (
  db: Db,
  {
    accountId,
    listIds,
    contacts,
    limit,
  }: Of & { listIds: readonly number[]; contacts: ContactSelection; limit: number },
): Promise<Member[]> =>
  many(
    db,
    sql`SELECT ${MEMBER} FROM contact_list_member
        WHERE account_id = ${accountId} AND list_id = ANY(${plainArray(listIds)}::bigint[])
          AND ${isSelected(contacts, sql`contact_id`)}
        ORDER BY list_id, contact_id LIMIT ${limit}`,
  );

const REMOVED_FROM_LIST = columns({ listId: as<number>('list_id'), removed: as<number>('count(*)') });

type RemovedFromList = RowOf<typeof REMOVED_FROM_LIST>;

/**
 * Removes contacts from lists (`listIds` null: from all lists). Returns the count of each list that had any of them.
 */
const deleteMembers = (
  db: Db,
  { accountId, listIds, contacts }: Of & { listIds: readonly number[] | null; contacts: ContactSelection },
): Promise<RemovedFromList[]> =>
  many(
    db,
    sql`WITH gone AS (
          DELETE FROM contact_list_member
          WHERE account_id = ${accountId} AND ${isSelected(contacts, sql`contact_id`)}
            ${listIds === null ? sql`` : sql`AND list_id = ANY(${plainArray(listIds)}::bigint[])`}
          RETURNING list_id)
        SELECT ${REMOVED_FROM_LIST} FROM gone GROUP BY list_id ORDER BY list_id`,
  );

async function listNonMembers(
  db: Db,
  { accountId, listIds, contactIds }: Of & { listIds: readonly number[]; contactIds: readonly number[] },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT u.id FROM unnest(${plainArray(contactIds)}::bigint[]) AS u (id)
        WHERE NOT EXISTS (SELECT FROM contact_list_member m WHERE m.account_id = ${accountId}
                          AND m.list_id = ANY(${plainArray(listIds)}::bigint[]) AND m.contact_id = u.id)
        ORDER BY u.id`,
  );
  return rows.map(({ id }) => id);
}

const findMember = (db: Db, { accountId, id }: Of & { id: number }): Promise<{ listId: number } | undefined> =>
  maybeOne(db, sql`SELECT list_id AS "listId" FROM contact_list_member WHERE account_id = ${accountId} AND id = ${id}`);

const deleteMember = (db: Db, { accountId, id }: Of & { id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM contact_list_member WHERE account_id = ${accountId} AND id = ${id}`);

export const updateNameKeys = (
  db: Db,
  { accountId, contactIds }: Of & { contactIds: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_list_member m SET name_key = lower(c.full_name)
        FROM contact c
        WHERE m.account_id = ${accountId} AND m.contact_id = ANY(${plainArray(contactIds)}::bigint[])
          AND c.account_id = ${accountId} AND c.id = m.contact_id AND m.name_key <> lower(c.full_name)`,
  );

/** The contacts to be added to or removed from lists. Ids may occur several times. */
export type Association = { readonly listIds: readonly number[]; readonly contacts: ContactSelection };

/** A requested association. `created`: it did not exist before. */
type Added = Member & { readonly created: boolean };

/** `associations`: those that were requested, new and existing; null when there are more than `MAX_IDS`. */
export type AddResult = {
  readonly associations: Added[] | null;
  readonly created: number;
  readonly existing: number;
};

type RemoveResult = { readonly deleted: number; readonly notFound: number[] };

/** Maximum associations that one request adds to several lists. Thousands of lists of all contacts would fill a disk. */
export const MAX_ASSOCIATIONS = 1_000_000;

/** Above this, the response counts the associations instead of listing their ids. */
const MAX_IDS = 10_000;

/**
 * Adds contacts to lists: one association for each pair; existing ones stay as they are. A million contacts take one
 * statement. Call it in a transaction. Errors: 400 naming lists and contacts that the account does not have, and for
 * more than `MAX_ASSOCIATIONS` with several lists; then nothing is done.
 */
export async function addToLists(tx: Db, actor: Author, input: Association): Promise<AddResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'contacts that must exist');
  if (listIds.length > 1) await refuseMany(tx, { accountId, listIds, contacts });
  const which = { accountId, listIds, contacts, limit: MAX_IDS + 1 };
  const before = new Set((await listMembers(tx, which)).map(({ id }) => id));
  const added = await insertAndCount(tx, { accountId, listIds, contacts });
  const created = sum(added.map((list) => list.created));
  const asked = sum(added.map((list) => list.chosen));
  await recordAudit(tx, actor, { action: 'contact-list.add', subject: subjectOf(listIds), detail: { created } });
  const counts = { created, existing: asked - created };
  if (asked > MAX_IDS) return { associations: null, ...counts };
  const members = await listMembers(tx, which);
  return { associations: members.map((member) => ({ ...member, created: !before.has(member.id) })), ...counts };
}

/**
 * Removes contacts from lists; contacts and lists stay. `notFound` has the ids of contacts that were in none of the
 * lists, including unknown ones. Call it in a transaction. Errors: 400 naming lists that the account does not have.
 */
export async function removeFromLists(tx: Db, actor: Author, input: Association): Promise<RemoveResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'any contacts');
  const notFound = 'ids' in contacts ? await listNonMembers(tx, { accountId, listIds, contactIds: contacts.ids }) : [];
  const deleted = await removeAndCount(tx, { accountId, listIds, contacts });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf(listIds), detail: { deleted } });
  return { deleted, notFound };
}

/** Deletes one association. Call it in a transaction. Errors: 404. */
export async function removeAssociation(tx: Db, actor: Author, { id }: { id: number }): Promise<RemoveResult> {
  const { accountId } = actor;
  await claimBook(tx, { accountId, to: 'associate' });
  const member = await existing(findMember(tx, { accountId, id }));
  const { listId } = member;
  await claimLists(tx, { accountId, ids: [listId] });
  // Another transaction may have removed it while this one waited for the list.
  if ((await deleteMember(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await updateListCounts(tx, { accountId, moves: [{ listId, by: -1 }] });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf([listId]), detail: { deleted: 1 } });
  return { deleted: 1, notFound: [] };
}

/**
 * Removes contacts that are about to be deleted from all lists. The caller has claimed the book with the purpose
 * `change`, so that no other transaction is changing any list.
 */
export const removeFromAllLists = (tx: Db, accountId: number, contacts: ContactSelection): Promise<number> =>
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
  readonly contacts: ContactSelection;
};

async function insertAndCount(tx: Db, addition: Addition): Promise<AddedToList[]> {
  const added = await insertMembers(tx, addition);
  const moves = added.flatMap(({ listId, created }) => (created > 0 ? [{ listId, by: created }] : []));
  if (moves.length > 0) await updateListCounts(tx, { accountId: addition.accountId, moves });
  return added;
}

async function refuseMany(tx: Db, { accountId, listIds, contacts }: Addition): Promise<void> {
  const chosen =
    'ids' in contacts
      ? contacts.ids.length
      : await countRows(
          tx,
          sql`FROM contact c WHERE c.account_id = ${accountId} AND ${isSelected(contacts, sql`c.id`)}`,
        );
  if (listIds.length * chosen <= MAX_ASSOCIATIONS) return;
  const message = `must be fewer lists: ${listIds.length} of them with ${chosen} contacts each exceed ${MAX_ASSOCIATIONS} associations`;
  throw invalidFields([{ field: 'listIds', message }]);
}

type Removal = {
  readonly accountId: number;
  readonly listIds: readonly number[] | null;
  readonly contacts: ContactSelection;
};

async function removeAndCount(tx: Db, removal: Removal): Promise<number> {
  const removed = await deleteMembers(tx, removal);
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
      : await listUnknownContacts(tx, { accountId, ids: contacts.ids });
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

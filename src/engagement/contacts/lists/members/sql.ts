import { plainArray } from '../../../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';

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
export type ContactSelection = { readonly ids: readonly number[] } | { readonly allBut: readonly number[] };

const isSelected = (chosen: ContactSelection, column: ReturnType<typeof sql>) =>
  'ids' in chosen
    ? sql`${column} = ANY(${plainArray(chosen.ids)}::bigint[])`
    : sql`${column} <> ALL(${plainArray(chosen.allBut)}::bigint[])`;

const ADDED_TO_LIST = columns({
  listId: as<number>('lists.id'),
  /** Number of contacts selected. */
  chosen: as<number>('(SELECT count(*) FROM chosen)'),
  /** Number of them that were not in the list before. */
  created: as<number>('count(added.list_id)'),
});

export type AddedToList = RowOf<typeof ADDED_TO_LIST>;

/** Adds contacts to lists; existing associations stay. Returns the counts of each list. */
export const insertMembers = (
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
/** An association of a contact with a list. */
export type Member = RowOf<typeof MEMBER>;

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

export type RemovedFromList = RowOf<typeof REMOVED_FROM_LIST>;

/**
 * Removes contacts from lists (`listIds` null: from all lists). Returns the count of each list that had any of them.
 */
export const deleteMembers = (
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

/** Lists the ids, among these contacts, of those that are in none of these lists. */
export async function listNonMembers(
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

/** Finds the list of an association. */
export const findMember = (db: Db, { accountId, id }: Of & { id: number }): Promise<{ listId: number } | undefined> =>
  maybeOne(db, sql`SELECT list_id AS "listId" FROM contact_list_member WHERE account_id = ${accountId} AND id = ${id}`);

export const deleteMember = (db: Db, { accountId, id }: Of & { id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM contact_list_member WHERE account_id = ${accountId} AND id = ${id}`);

/** Updates the names by which lists sort these contacts. */
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

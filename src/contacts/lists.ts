import { type Author, recordAudit } from '../accounts/audit.ts';
import { bigint, rowsOf } from '../core/db/columns.ts';
import {
  as,
  columns,
  containsPattern,
  countRows,
  type Db,
  exec,
  join,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { existing } from '../core/errors.ts';

type ListInput = {
  readonly name?: string | undefined;
  /** Description; null is the same as an empty text. */
  readonly description?: string | null | undefined;
  readonly isTest?: boolean | undefined;
};

/** Creates a list. The caller has checked that the name does not consist of blanks. Call it in a transaction. */
export async function createList(
  tx: Db,
  actor: Author,
  input: ListInput & { readonly name: string },
): Promise<ListRow> {
  const { description, isTest = false } = input;
  const name = input.name.trim();
  const list = await insertList(tx, { accountId: actor.accountId, name, description: description ?? '', isTest });
  await recordAudit(tx, actor, { action: 'contact-list.create', subject: `contact-list:${list.id}`, detail: { name } });
  return list;
}

/**
 * Changes the name, description or kind of a list; omitted fields are unchanged. Call it in a transaction. Errors: 404.
 */
export async function changeList(tx: Db, actor: Author, id: number, input: ListInput): Promise<ListRow> {
  const name = input.name?.trim() ?? null;
  const description = input.description === null ? '' : (input.description ?? null);
  const change = { name, description, isTest: input.isTest ?? null };
  const list = await existing(updateList(tx, { accountId: actor.accountId, id, ...change }));
  await recordAudit(tx, actor, { action: 'contact-list.update', subject: `contact-list:${id}`, detail: change });
  return list;
}

const LIST = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  description: as<string>('description'),
  /** True if the test sends of campaigns may use the list. */
  isTest: as<boolean>('is_test'),
  contactCount: as<number>('contact_count'),
  /** Increases with every change of its contacts. */
  version: as<number>('version'),
  createdAt: as<Date>('created_at'),
  deletedAt: as<Date | null>('deleted_at'),
});

export type ListRow = RowOf<typeof LIST>;

/** Filter for the lists of an account. An undefined filter matches all of them. */
type ListFilter = {
  readonly accountId: number;
  /** A part of the name, case-insensitive. */
  readonly search?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly contactIds?: readonly number[] | undefined;
  readonly isTest?: boolean | undefined;
  readonly includeDeleted: boolean;
};

export const LIST_ORDERS = {
  name: 'lower(name)',
  id: 'id',
  createdAt: 'created_at',
  contactCount: 'contact_count',
} as const;
type ListOrder = { readonly sortBy: keyof typeof LIST_ORDERS; readonly descending: boolean };

function matching(filter: ListFilter): Sql {
  const { accountId, search, ids, contactIds, isTest } = filter;
  return join(
    [
      sql`account_id = ${accountId}`,
      ...(filter.includeDeleted ? [] : [sql`deleted_at IS NULL`]),
      ...(search === undefined ? [] : [sql`fold_text(name) LIKE ${containsPattern(search)}`]),
      ...(ids === undefined ? [] : [sql`id = ANY(${plainArray(ids)}::bigint[])`]),
      ...(isTest === undefined ? [] : [sql`is_test = ${isTest}`]),
      ...(contactIds === undefined
        ? []
        : [
            sql`id IN (SELECT list_id FROM contact_list_member
                        WHERE account_id = ${accountId} AND contact_id = ANY(${plainArray(contactIds)}::bigint[]))`,
          ]),
    ],
    ' AND ',
  );
}

export const listLists = (
  db: Db,
  { filter, order, limit, offset }: { filter: ListFilter; order: ListOrder; limit: number; offset: number },
): Promise<ListRow[]> => {
  const direction = raw(order.descending ? 'DESC' : 'ASC');
  return many(
    db,
    sql`SELECT ${LIST} FROM contact_list WHERE ${matching(filter)}
        ORDER BY ${raw(LIST_ORDERS[order.sortBy])} ${direction}, id ${direction} LIMIT ${limit} OFFSET ${offset}`,
  );
};

export const countLists = (db: Db, { filter }: { filter: ListFilter }): Promise<number> =>
  countRows(db, sql`FROM contact_list WHERE ${matching(filter)}`);

export const findList = (
  db: Db,
  { accountId, id, includeDeleted = false }: { accountId: number; id: number; includeDeleted?: boolean },
): Promise<ListRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${LIST} FROM contact_list
        WHERE account_id = ${accountId} AND id = ${id} AND (${includeDeleted} OR deleted_at IS NULL)`,
  );

type NewList = {
  readonly accountId: number;
  readonly name: string;
  readonly description: string;
  readonly isTest: boolean;
};

const insertList = (db: Db, { accountId, name, description, isTest }: NewList): Promise<ListRow> =>
  one(
    db,
    sql`INSERT INTO contact_list (account_id, name, description, is_test)
        VALUES (${accountId}, ${name}, ${description}, ${isTest}) RETURNING ${LIST}`,
  );

/**
 * Changes the name, description and kind of a list; null leaves a field unchanged. Undefined when there is no such
 * list.
 */
const updateList = (
  db: Db,
  input: { accountId: number; id: number; name: string | null; description: string | null; isTest: boolean | null },
): Promise<ListRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE contact_list SET name = coalesce(${input.name}, name),
          description = coalesce(${input.description}, description), is_test = coalesce(${input.isTest}, is_test)
        WHERE account_id = ${input.accountId} AND id = ${input.id} AND deleted_at IS NULL RETURNING ${LIST}`,
  );

/** Returns the ids of those of these lists that exist, locked in the order of their ids until the transaction ends. */
export async function claimLists(
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT id FROM contact_list
        WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[]) AND deleted_at IS NULL
        ORDER BY id FOR NO KEY UPDATE`,
  );
  return rows.map(({ id }) => id);
}

/** Marks lists as deleted: their rows stay, without contacts. */
export const deleteLists = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_list SET deleted_at = now(), contact_count = 0, version = version + 1
        WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[]) AND deleted_at IS NULL`,
  );

type CountDelta = { readonly listId: number; readonly by: number };

/** Updates the contact counts and versions of lists, in the transaction that adds or removes their contacts. */
export const updateListCounts = (
  db: Db,
  { accountId, moves }: { accountId: number; moves: readonly CountDelta[] },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_list l SET contact_count = contact_count + m.by, version = version + 1
        FROM ${rowsOf(moves, { list_id: bigint((m) => m.listId), by: bigint((m) => m.by) })} AS m
        WHERE l.account_id = ${accountId} AND l.id = m.list_id`,
  );

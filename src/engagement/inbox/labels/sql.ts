import { bigint, insertRows, uuid } from '../../../platform/db/columns.ts';
import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { LabelColor } from './schema.ts';

const LABEL = columns({ id: as<number>('b.id'), name: as<string>('b.name'), color: as<LabelColor>('b.color') });
/** A label that an account gives to conversations. */
export type Label = RowOf<typeof LABEL>;

type Of = { readonly accountId: number };

/** Lists all labels of an account, by name. */
export const listLabels = (db: Db, { accountId }: Of): Promise<Label[]> =>
  many(db, sql`SELECT ${LABEL} FROM inbox_label b WHERE b.account_id = ${accountId} ORDER BY lower(b.name)`);

export async function countLabels(db: Db, { accountId }: Of): Promise<number> {
  const { total } = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM inbox_label WHERE account_id = ${accountId}`,
  );
  return total;
}

/** Inserts a label; undefined when there is one with this name, in any case. */
export const insertLabel = (db: Db, { accountId, name, color }: Of & Omit<Label, 'id'>): Promise<Label | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO inbox_label AS b (account_id, name, color) VALUES (${accountId}, ${name}, ${color})
        ON CONFLICT DO NOTHING RETURNING ${LABEL}`,
  );

/**
 * Updates a label; null leaves a field unchanged. Undefined: the account has none with this id. Fails (23505) when the
 * name is taken.
 */
export const updateLabel = (
  db: Db,
  {
    accountId,
    id,
    name,
    color,
  }: Of & { readonly id: number; readonly name: string | null; readonly color: string | null },
): Promise<Label | undefined> =>
  maybeOne(
    db,
    sql`UPDATE inbox_label b SET name = coalesce(${name}, b.name), color = coalesce(${color}, b.color)
        WHERE b.account_id = ${accountId} AND b.id = ${id} RETURNING ${LABEL}`,
  );

/** Deletes a label, also from its conversations. Undefined: the account has none with this id. */
export const deleteLabel = (db: Db, { accountId, id }: Of & { readonly id: number }): Promise<Label | undefined> =>
  maybeOne(
    db,
    sql`WITH given AS (DELETE FROM conversation_label WHERE account_id = ${accountId} AND label_id = ${id})
        DELETE FROM inbox_label b WHERE b.account_id = ${accountId} AND b.id = ${id} RETURNING ${LABEL}`,
  );

type InChat = Of & { readonly chatId: string };

/** Locks those of these labels that the account has, and returns their ids. */
export async function lockLabels(
  db: Db,
  { accountId, ids }: Of & { readonly ids: readonly number[] },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT b.id FROM inbox_label b WHERE b.account_id = ${accountId} AND b.id = ANY(${plainArray(ids)}::bigint[])
        ORDER BY b.id FOR SHARE`,
  );
  return rows.map(({ id }) => id);
}

/** Removes all labels but these from a conversation. Returns the number removed. */
export const deleteOtherLabels = (
  db: Db,
  { accountId, chatId, labelIds }: InChat & { readonly labelIds: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM conversation_label
        WHERE account_id = ${accountId} AND chat_id = ${chatId} AND NOT label_id = ANY(${plainArray(labelIds)}::bigint[])`,
  );

/** Adds labels to a conversation. Returns the number of those that it did not have. */
export const insertConversationLabels = (
  db: Db,
  rows: readonly (InChat & { readonly labelId: number })[],
): Promise<number> =>
  exec(
    db,
    sql`${insertRows('conversation_label', rows, { accountId: bigint, chatId: uuid, labelId: bigint })}
        ON CONFLICT DO NOTHING`,
  );

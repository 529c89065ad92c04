import { rowsOf, uuid } from '../../../platform/db/columns.ts';
import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const NOTE = columns({
  id: as<string>('n.id'),
  chatId: as<string>('n.chat_id'),
  authorId: as<number | null>('n.author_id'),
  author: as<string>('n.author'),
  text: as<string>('n.text'),
  createdAt: as<Date>('n.created_at'),
});
/** A note about a conversation, for colleagues only. */
export type Note = RowOf<typeof NOTE>;

type InChat = { readonly accountId: number; readonly chatId: string };

/** Inserts a note about a conversation. */
export const insertNote = (db: Db, note: InChat & Omit<Note, 'createdAt'>): Promise<Note> =>
  one(
    db,
    sql`INSERT INTO inbox_note AS n (account_id, chat_id, id, author_id, author, text)
        VALUES (${note.accountId}, ${note.chatId}, ${note.id}, ${note.authorId}, ${note.author}, ${note.text})
        RETURNING ${NOTE}`,
  );

/** Lists the newest notes of a conversation, the oldest of them first. */
export async function listNotes(
  db: Db,
  { accountId, chatId, limit }: InChat & { readonly limit: number },
): Promise<Note[]> {
  const newest = await many(
    db,
    sql`SELECT ${NOTE} FROM inbox_note n WHERE n.account_id = ${accountId} AND n.chat_id = ${chatId}
        ORDER BY n.id DESC LIMIT ${limit}`,
  );
  return newest.reverse();
}

/** Lists these notes, of any conversation of an account. */
export const listNotesById = (
  db: Db,
  { accountId, keys }: { accountId: number; keys: readonly { readonly chatId: string; readonly id: string }[] },
): Promise<Note[]> =>
  many(
    db,
    sql`SELECT ${NOTE} FROM ${rowsOf(keys, { chat_id: uuid((k) => k.chatId), id: uuid((k) => k.id) })} AS u
        JOIN inbox_note n ON n.account_id = ${accountId} AND n.chat_id = u.chat_id AND n.id = u.id`,
  );

/** Deletes a note; undefined when the conversation has none with this id. */
export const deleteNote = (
  db: Db,
  { accountId, chatId, id }: InChat & { readonly id: string },
): Promise<Note | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM inbox_note n WHERE n.account_id = ${accountId} AND n.chat_id = ${chatId} AND n.id = ${id}
        RETURNING ${NOTE}`,
  );

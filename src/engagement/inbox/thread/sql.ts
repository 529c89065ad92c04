import { bigint, json, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, type Sql, sql } from '../../../platform/db/query.ts';
import type { Direction } from '../sql.ts';

/** The file of a message: PENDING while it is at the network, FAILED when it cannot be had. */
export type ThreadMedia = {
  readonly state: 'PENDING' | 'STORED' | 'FAILED';
  readonly mediaId: number | null;
  readonly mimeType: string | null;
  readonly fileName: string | null;
};

export type ThreadMessage = {
  id: string;
  direction: Direction;
  messageType: string;
  text: string;
  media: ThreadMedia | null;
  consent: 'OPTED_OUT' | 'OPTED_IN' | null;
  at: Date;
};

type InThread = { readonly accountId: number; readonly chatId: string };

export const insertThreadMessages = (db: Db, rows: readonly (ThreadMessage & InThread)[]): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, media, consent, at)
        SELECT u.account_id, u.chat_id, u.id, u.direction, u.message_type, u.text, u.media::jsonb, u.consent, u.at
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          chat_id: uuid((r) => r.chatId),
          id: uuid((r) => r.id),
          direction: text((r) => r.direction),
          message_type: text((r) => r.messageType),
          text: text((r) => r.text),
          media: json((r) => (r.media === null ? null : JSON.stringify(r.media))),
          consent: text((r) => r.consent),
          at: timestamptz((r) => r.at),
        })} AS u`,
  );

/** A part of a thread: from this id on, up to that one, both included; without the first the newest ones. */
export type ThreadWindow = {
  readonly idFrom?: string | undefined;
  readonly idTo?: string | undefined;
  readonly limit: number;
};

const COLUMNS: Sql = sql`id, direction, message_type AS "messageType", text, media, consent, at`;

/** Oldest first. */
export async function listThread(
  db: Db,
  { accountId, chatId, idFrom, idTo, limit }: InThread & ThreadWindow,
): Promise<ThreadMessage[]> {
  const newest = idFrom === undefined;
  const rows = await many<ThreadMessage>(
    db,
    sql`SELECT ${COLUMNS} FROM inbox_message
        WHERE account_id = ${accountId} AND chat_id = ${chatId}
          AND id >= ${idFrom ?? FIRST} AND id <= ${idTo ?? LAST}
        ORDER BY id ${newest ? sql`DESC` : sql`ASC`} LIMIT ${limit}`,
  );
  return newest ? rows.reverse() : rows;
}

const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** These messages of any threads of an account. */
export const listThreadMessages = (
  db: Db,
  { accountId, keys }: { accountId: number; keys: readonly { readonly chatId: string; readonly id: string }[] },
): Promise<(ThreadMessage & { chatId: string })[]> =>
  many(
    db,
    sql`SELECT m.chat_id AS "chatId", m.id, m.direction, m.message_type AS "messageType", m.text, m.media, m.consent, m.at
        FROM ${rowsOf(keys, { chat_id: uuid((k) => k.chatId), id: uuid((k) => k.id) })} AS u
        JOIN inbox_message m ON m.account_id = ${accountId} AND m.chat_id = u.chat_id AND m.id = u.id`,
  );

/** Notes what became of a file. */
export const updateThreadMedia = (
  db: Db,
  { accountId, chatId, id, media }: InThread & { readonly id: string; readonly media: ThreadMedia },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_message SET media = ${JSON.stringify(media)}::jsonb
        WHERE account_id = ${accountId} AND chat_id = ${chatId} AND id = ${id}`,
  );

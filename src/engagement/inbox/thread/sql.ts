import { bigint, input, insertRows, json, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Direction } from '../sql.ts';

/** The file of a message: PENDING until it is fetched from the network, FAILED when it is not available. */
export type ThreadMedia = {
  readonly state: 'PENDING' | 'STORED' | 'FAILED';
  readonly mediaId: number | null;
  readonly mimeType: string | null;
  readonly fileName: string | null;
};

const THREAD_MESSAGE = columns({
  id: as<string>('m.id'),
  direction: as<Direction>('m.direction'),
  messageType: as<string>('m.message_type'),
  text: as<string>('m.text'),
  media: as<ThreadMedia | null>('m.media'),
  /** Effect of the message on consent if it is a word like STOP or START; otherwise null. */
  consent: as<'OPTED_OUT' | 'OPTED_IN' | null>('m.consent'),
  at: as<Date>('m.at'),
});

/** A message of a conversation. */
export type ThreadMessage = RowOf<typeof THREAD_MESSAGE>;

type InThread = { readonly accountId: number; readonly chatId: string };

export const insertThreadMessages = (db: Db, rows: readonly (ThreadMessage & InThread)[]): Promise<number> =>
  exec(
    db,
    insertRows(
      'inbox_message',
      rows.map((row) => ({ ...row, media: row.media && JSON.stringify(row.media) })),
      {
        accountId: bigint,
        chatId: uuid,
        id: uuid,
        direction: text,
        messageType: text,
        text,
        media: input(json),
        consent: text,
        at: timestamptz,
      },
      { media: sql`u.media::jsonb` },
    ),
  );

/** A part of a thread: from `idFrom` on, up to `idTo`, both included. Without `idFrom`, the newest messages. */
export type ThreadWindow = {
  readonly idFrom?: string | undefined;
  readonly idTo?: string | undefined;
  readonly limit: number;
};

/** Lists a part of a thread, the oldest message first. */
export async function listThread(
  db: Db,
  { accountId, chatId, idFrom, idTo, limit }: InThread & ThreadWindow,
): Promise<ThreadMessage[]> {
  const newest = idFrom === undefined;
  const rows = await many(
    db,
    sql`SELECT ${THREAD_MESSAGE} FROM inbox_message m
        WHERE m.account_id = ${accountId} AND m.chat_id = ${chatId}
          AND m.id >= ${idFrom ?? FIRST} AND m.id <= ${idTo ?? LAST}
        ORDER BY m.id ${newest ? sql`DESC` : sql`ASC`} LIMIT ${limit}`,
  );
  return newest ? rows.reverse() : rows;
}

const CHAT_ID = columns({ chatId: as<string>('m.chat_id') });

const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Lists these messages of an account, of any of its threads. */
export const listThreadMessages = (
  db: Db,
  { accountId, keys }: { accountId: number; keys: readonly { readonly chatId: string; readonly id: string }[] },
): Promise<(ThreadMessage & { chatId: string })[]> =>
  many(
    db,
    sql`SELECT ${CHAT_ID}, ${THREAD_MESSAGE}
        FROM ${rowsOf(keys, { chat_id: uuid((k) => k.chatId), id: uuid((k) => k.id) })} AS u
        JOIN inbox_message m ON m.account_id = ${accountId} AND m.chat_id = u.chat_id AND m.id = u.id`,
  );

/** Updates the file of a message. */
export const updateThreadMedia = (
  db: Db,
  { accountId, chatId, id, media }: InThread & { readonly id: string; readonly media: ThreadMedia },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_message SET media = ${JSON.stringify(media)}::jsonb
        WHERE account_id = ${accountId} AND chat_id = ${chatId} AND id = ${id}`,
  );

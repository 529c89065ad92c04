import { bigint, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const WATCHED_REPLY = columns({
  accountId: as<number>('account_id'),
  messageId: as<string>('message_id'),
  chatId: as<string>('chat_id'),
  /** The status that was published last. */
  status: as<string>('status'),
});

/** A reply whose status may still change. */
export type WatchedReply = RowOf<typeof WATCHED_REPLY>;

export const insertWatchedReply = (
  db: Db,
  { accountId, messageId, chatId, dueAt }: Omit<WatchedReply, 'status'> & { readonly dueAt: Date },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_watch (account_id, message_id, chat_id, due_at)
        VALUES (${accountId}, ${messageId}, ${chatId}, ${dueAt})`,
  );

/** Claims replies that are due, until the transaction ends. Those that another worker has claimed are skipped. */
export const claimWatchedReplies = (db: Db, { limit }: { limit: number }): Promise<WatchedReply[]> =>
  many(
    db,
    sql`SELECT ${WATCHED_REPLY} FROM inbox_watch
        WHERE due_at <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );

/** Returns the ms until the next reply is due; null when none is watched. */
export async function findNextWatchedMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM inbox_watch`,
  );
  return ms;
}

type Key = Pick<WatchedReply, 'accountId' | 'messageId'>;
const keys = {
  account_id: bigint((k: Key) => k.accountId),
  message_id: uuid((k: Key) => k.messageId),
};

export const updateWatchedReplies = (
  db: Db,
  rows: readonly (Key & { readonly status: string; readonly dueAt: Date })[],
): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_watch w SET status = u.status, due_at = u.due_at
        FROM ${rowsOf(rows, { ...keys, status: text((r) => r.status), due_at: timestamptz((r) => r.dueAt) })} AS u
        WHERE w.account_id = u.account_id AND w.message_id = u.message_id`,
  );

export const deleteWatchedReplies = (db: Db, rows: readonly Key[]): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbox_watch w USING ${rowsOf(rows, keys)} AS u
        WHERE w.account_id = u.account_id AND w.message_id = u.message_id`,
  );

import { bigint, int, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';

/** Told when an inbox has changed; the payload is the account's id. */
export const INBOX_CHANNEL = 'heliograph_inbox';

export type EventKind = 'message' | 'status' | 'conversation';

export type NewInboxEvent = {
  readonly accountId: number;
  readonly kind: EventKind;
  readonly chatId: string;
  /** Null for what is about the conversation itself. */
  readonly messageId: string | null;
};

/** Makes room for so many events of each account, whose inbox is held; answers the ids before them. */
export const updateLastEvents = (
  db: Db,
  counts: readonly { readonly accountId: number; readonly count: number }[],
): Promise<{ accountId: number; before: number }[]> =>
  many(
    db,
    sql`UPDATE inbox i SET last_event = i.last_event + u.count
        FROM ${rowsOf(counts, { account_id: bigint((c) => c.accountId), count: int((c) => c.count) })} AS u
        WHERE i.account_id = u.account_id
        RETURNING i.account_id AS "accountId", i.last_event - u.count AS before`,
  );

/** Keeps events and tells every process of them, when the transaction commits. */
export const insertInboxEvents = (
  db: Db,
  rows: readonly (NewInboxEvent & { readonly id: number })[],
): Promise<number> =>
  exec(
    db,
    sql`WITH written AS (
          INSERT INTO inbox_event (account_id, id, kind, chat_id, message_id)
          SELECT * FROM ${rowsOf(rows, {
            account_id: bigint((r) => r.accountId),
            id: bigint((r) => r.id),
            kind: text((r) => r.kind),
            chat_id: uuid((r) => r.chatId),
            message_id: uuid((r) => r.messageId),
          })} AS u
          RETURNING account_id)
        SELECT pg_notify(${INBOX_CHANNEL}, account_id::text) FROM (SELECT DISTINCT account_id FROM written) AS w`,
  );

export type InboxEvent = { id: number; kind: EventKind; chatId: string; messageId: string | null };

/** In their order. */
export const listInboxEvents = (
  db: Db,
  { accountId, after, limit }: { accountId: number; after: number; limit: number },
): Promise<InboxEvent[]> =>
  many(
    db,
    sql`SELECT id, kind, chat_id AS "chatId", message_id AS "messageId" FROM inbox_event
        WHERE account_id = ${accountId} AND id > ${after} ORDER BY id LIMIT ${limit}`,
  );

/** The newest event, and the oldest that is kept (one after the newest when none is). */
export const findEventBounds = (
  db: Db,
  { accountId }: { accountId: number },
): Promise<{ newest: number; oldest: number }> =>
  one(
    db,
    sql`SELECT n.newest, coalesce((SELECT min(e.id) FROM inbox_event e WHERE e.account_id = ${accountId}), n.newest + 1) AS oldest
        FROM (SELECT coalesce(max(last_event), 0) AS newest FROM inbox WHERE account_id = ${accountId}) AS n`,
  );

/** Forgets up to `limit` events that are older than a day. */
export const deleteOldInboxEvents = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbox_event WHERE (account_id, id) IN (
          SELECT account_id, id FROM inbox_event WHERE created_at < now() - interval '1 day' LIMIT ${limit})`,
  );

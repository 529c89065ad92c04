import { bigint, insertRows, int, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** The NOTIFY channel for changes of inboxes; the payload is the id of the account. */
export const INBOX_CHANNEL = 'heliograph_inbox';

export type EventKind = 'message' | 'status' | 'conversation' | 'note';

export type NewInboxEvent = {
  readonly accountId: number;
  readonly kind: EventKind;
  readonly chatId: string;
  /** Id of the message or the note. Null if the event is about the conversation itself. */
  readonly messageId: string | null;
};

/** Reserves the ids of `count` events for each account; returns the last id before them. The inboxes must be locked. */
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

/** Inserts events, and notifies every process; the notification is delivered when the transaction commits. */
export const insertInboxEvents = (
  db: Db,
  rows: readonly (NewInboxEvent & { readonly id: number })[],
): Promise<number> =>
  exec(
    db,
    sql`WITH written AS (
          ${insertRows('inbox_event', rows, { accountId: bigint, id: bigint, kind: text, chatId: uuid, messageId: uuid })}
          RETURNING account_id)
        SELECT pg_notify(${INBOX_CHANNEL}, account_id::text) FROM (SELECT DISTINCT account_id FROM written) AS w`,
  );

const INBOX_EVENT = columns({
  id: as<number>('id'),
  kind: as<EventKind>('kind'),
  chatId: as<string>('chat_id'),
  /** Id of the message or the note; null if the event is about the conversation itself. */
  messageId: as<string | null>('message_id'),
});

export type InboxEvent = RowOf<typeof INBOX_EVENT>;

/** Lists up to `limit` events of an account after the event `after`, in their order. */
export const listInboxEvents = (
  db: Db,
  { accountId, after, limit }: { accountId: number; after: number; limit: number },
): Promise<InboxEvent[]> =>
  many(
    db,
    sql`SELECT ${INBOX_EVENT} FROM inbox_event
        WHERE account_id = ${accountId} AND id > ${after} ORDER BY id LIMIT ${limit}`,
  );

/** Finds the ids of the newest event and of the oldest one that is stored (one after the newest if there is none). */
export const findEventBounds = (
  db: Db,
  { accountId }: { accountId: number },
): Promise<{ newest: number; oldest: number }> =>
  one(
    db,
    sql`SELECT n.newest, coalesce((SELECT min(e.id) FROM inbox_event e WHERE e.account_id = ${accountId}), n.newest + 1) AS oldest
        FROM (SELECT coalesce(max(last_event), 0) AS newest FROM inbox WHERE account_id = ${accountId}) AS n`,
  );

/** Deletes up to `limit` events that are older than a day. */
export const deleteOldInboxEvents = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbox_event WHERE (account_id, id) IN (
          SELECT account_id, id FROM inbox_event WHERE created_at < now() - interval '1 day' LIMIT ${limit})`,
  );

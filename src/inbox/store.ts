import { isServedHere } from '../accounts/accounts.ts';
import type { InboundContent } from '../channels/inbound-content.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, boolean, input, insertRows, int, json, rowsOf, text, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, raw, sql } from '../core/db/query.ts';

/**
 * Locks the inboxes of these accounts until the transaction ends, and creates those that do not exist. To avoid
 * deadlocks, lock them first, before other rows of the inbox or of the contacts. Each account may occur once, in
 * ascending order.
 */
export const claimInboxes = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox AS i (account_id) SELECT u.account_id FROM ${rowsOf(accountIds, {
      account_id: bigint((id) => id),
    })} AS u ORDER BY u.account_id
        ON CONFLICT (account_id) DO UPDATE SET last_event = i.last_event`,
  );

export type Direction = 'INBOUND' | 'OUTBOUND';

/** Changes that one or more messages of one person make in their conversation. */
export type ConversationUpdate = {
  readonly accountId: number;
  /** The id of the conversation if it does not exist yet. */
  readonly newChatId: string;
  readonly channel: Channel;
  readonly peer: string;
  readonly identity: string;
  readonly profileName: string;
  /** Number of unread messages among them. */
  readonly unread: number;
  readonly windowExpiresAt: Date | null;
  /** End of the time in which messages to a person who came from an advertisement are free (WhatsApp). */
  /** The time until which an answer to a person who came from an advertisement opens the free window. */
  readonly freeEntryUntil: Date | null;
  /** The direction of the newest message. */
  readonly direction: Direction;
  /** The type of the newest message. */
  readonly messageType: string;
  /** The text of the newest message. */
  readonly text: string;
  readonly at: Date;
};

/** The conversation as of the beginning of the statement: no one else changes it while its inbox is locked. */
const BEFORE = 'FROM conversation o WHERE o.account_id = c.account_id AND o.chat_id = c.chat_id';

export const CHANGED_CONVERSATION = columns({
  accountId: as<number>('c.account_id'),
  chatId: as<string>('c.chat_id'),
  channel: as<Channel>('c.channel'),
  peer: as<string>('c.peer'),
  archived: as<boolean>('c.archived'),
  unread: as<number>('c.unread'),
  assigneeId: as<number | null>('c.assignee_id'),
  /** True if it was archived before; null: it is new. */
  wasArchived: as<boolean | null>(`(SELECT o.archived ${BEFORE})`),
  /** Number of unread messages before; null: it is new. */
  wasUnread: as<number | null>(`(SELECT o.unread ${BEFORE})`),
});

/** A conversation that was changed, and its state before. */
export type ChangedConversation = RowOf<typeof CHANGED_CONVERSATION>;

/** Length of the preview of the last message in a list. */
const PREVIEW_CHARACTERS = 1000;

/**
 * Inserts conversations, or updates those that exist; each may occur once in a call. `unarchive`: an archived
 * conversation returns to the list (messages from people do this, replies do not). If our number of the conversation
 * changes, the window of the old number no longer counts. The caller has locked the inboxes (`claimInboxes`).
 */
export const insertConversations = (
  db: Db,
  { rows, unarchive }: { rows: readonly ConversationUpdate[]; unarchive: boolean },
): Promise<ChangedConversation[]> =>
  many(
    db,
    sql`${insertRows(
      'conversation AS c',
      rows,
      {
        accountId: bigint,
        newChatId: input(uuid),
        channel: text,
        peer: text,
        identity: text,
        profileName: text,
        unread: int,
        windowExpiresAt: timestamptz,
        freeEntryUntil: timestamptz,
        direction: input(text),
        messageType: input(text),
        text: input(text),
        at: input(timestamptz),
      },
      {
        chat_id: sql`u.new_chat_id`,
        last_direction: sql`u.direction`,
        last_type: sql`u.message_type`,
        last_text: sql`left(u.text, ${PREVIEW_CHARACTERS})`,
        last_at: sql`u.at`,
      },
    )}
        ON CONFLICT (account_id, person, channel) DO UPDATE SET
          identity = excluded.identity,
          profile_name = coalesce(nullif(excluded.profile_name, ''), c.profile_name),
          unread = c.unread + excluded.unread,
          archived = ${unarchive ? sql`false` : sql`c.archived`},
          snoozed_until = ${unarchive ? sql`NULL` : sql`c.snoozed_until`},
          window_expires_at = CASE WHEN c.identity = excluded.identity
            THEN greatest(c.window_expires_at, excluded.window_expires_at) ELSE excluded.window_expires_at END,
          free_entry_until = CASE WHEN c.identity = excluded.identity
            THEN greatest(c.free_entry_until, excluded.free_entry_until) ELSE excluded.free_entry_until END,
          last_direction = excluded.last_direction, last_type = excluded.last_type, last_text = excluded.last_text,
          last_at = greatest(c.last_at, excluded.last_at)
        RETURNING ${CHANGED_CONVERSATION}`,
  );

type One = { readonly accountId: number; readonly chatId: string };

/** Finds a conversation as one that was changed without another state, so that the counts stay as they are. */
export const findChanged = (db: Db, { accountId, chatId }: One): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CHANGED_CONVERSATION} FROM conversation c WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId}`,
  );

/** Marks a conversation as read. Undefined: it does not exist, or nothing is unread. */
export const moveToRead = (db: Db, { accountId, chatId }: One): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET unread = 0
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.unread > 0 RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Marks a conversation as unread. Undefined: it does not exist, or is unread. */
export const moveToUnread = (db: Db, { accountId, chatId }: One): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET unread = 1
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.unread = 0 RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Archives or unarchives a conversation permanently. Undefined: it does not exist, or already has this state. */
export const updateArchived = (
  db: Db,
  { accountId, chatId, archived }: One & { archived: boolean },
): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET archived = ${archived}, snoozed_until = NULL
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND (c.archived <> ${archived} OR c.snoozed_until IS NOT NULL)
        RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Archives a conversation until an instant. Undefined: it does not exist, or is already snoozed until then. */
export const updateSnoozed = (
  db: Db,
  { accountId, chatId, until }: One & { until: Date },
): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET archived = true, snoozed_until = ${until}
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.snoozed_until IS DISTINCT FROM ${until}
        RETURNING ${CHANGED_CONVERSATION}`,
  );

/**
 * Returns the snoozed conversations of an account whose time has come to the list, up to `limit` of them, as unread.
 */
export const moveToAwake = (
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<ChangedConversation[]> =>
  many(
    db,
    sql`UPDATE conversation c SET archived = false, snoozed_until = NULL, unread = greatest(c.unread, 1)
        WHERE c.account_id = ${accountId} AND c.chat_id IN (
          SELECT d.chat_id FROM conversation d
          WHERE d.account_id = ${accountId} AND d.snoozed_until <= now() ORDER BY d.snoozed_until LIMIT ${limit})
        RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Finds an account that is served here and has a snoozed conversation whose time has come. */
export const findAccountToWake = (db: Db): Promise<{ accountId: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT c.account_id AS "accountId" FROM conversation c
        WHERE c.snoozed_until <= now() AND ${isServedHere(sql`c.account_id`)} ORDER BY c.snoozed_until LIMIT 1`,
  );

/** Returns the ms until the next snoozed conversation returns; null when none is snoozed. */
export async function findNextWakeMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(c.snoozed_until) - now()) * 1000)::float8 AS ms FROM conversation c
        WHERE c.snoozed_until IS NOT NULL AND ${isServedHere(sql`c.account_id`)}`,
  );
  return ms;
}

/**
 * Assigns a conversation to a user, or to no one (null). Undefined: it does not exist, or already has this assignee.
 */
export const updateAssignee = (
  db: Db,
  { accountId, chatId, userId }: One & { userId: number | null },
): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET assignee_id = ${userId}
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.assignee_id IS DISTINCT FROM ${userId}
        RETURNING ${CHANGED_CONVERSATION}`,
  );

const ENDPOINTS = columns({
  channel: as<Channel>('channel'),
  /** The person: a number (E.164), or the name by which the network knows them. */
  peer: as<string>('peer'),
  /** Our number, agent or phone number id. */
  identity: as<string>('identity'),
});

/** Sender and recipient of the messages of a conversation, and their channel. */
export type Endpoints = RowOf<typeof ENDPOINTS>;

export const findEndpoints = (db: Db, { accountId, chatId }: One): Promise<Endpoints | undefined> =>
  maybeOne(db, sql`SELECT ${ENDPOINTS} FROM conversation WHERE account_id = ${accountId} AND chat_id = ${chatId}`);

export type CountKey = {
  readonly accountId: number;
  readonly archived: boolean;
  readonly channel: Channel;
  readonly unread: boolean;
};

/** Adds to the counts of conversations. Each key may occur once; the inboxes of the accounts must be locked. */
export const insertCounts = (db: Db, rows: readonly (CountKey & { readonly by: number })[]): Promise<number> =>
  exec(
    db,
    sql`${insertRows(
      'inbox_count AS n',
      rows,
      { accountId: bigint, archived: boolean, channel: text, unread: boolean, by: input(bigint) },
      { conversations: sql`u.by` },
    )}
        ON CONFLICT (account_id, archived, channel, unread) DO UPDATE SET
          conversations = n.conversations + excluded.conversations`,
  );

const ASSIGNABLE_USER = columns({
  id: as<number>('id'),
  username: as<string>('username'),
  displayName: as<string>('display_name'),
  role: as<string>('role'),
});

/** A user to whom conversations can be assigned, because the role may reply. */
export type AssignableUser = RowOf<typeof ASSIGNABLE_USER>;

/** Lists the users to whom conversations can be assigned, by name. */
export const listAssignableUsers = (
  db: Db,
  { accountId, limit, offset }: { accountId: number; limit: number; offset: number },
): Promise<AssignableUser[]> =>
  many(
    db,
    sql`SELECT ${ASSIGNABLE_USER} FROM app_user WHERE account_id = ${accountId} AND role <> 'viewer'
        ORDER BY lower(coalesce(nullif(display_name, ''), username)), id LIMIT ${limit} OFFSET ${offset}`,
  );

export const findAssignableUser = (
  db: Db,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<{ id: number } | undefined> =>
  maybeOne(db, sql`SELECT id FROM app_user WHERE account_id = ${accountId} AND id = ${userId} AND role <> 'viewer'`);

export async function countAssignableUsers(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const row = await maybeOne<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM app_user WHERE account_id = ${accountId} AND role <> 'viewer'`,
  );
  return row?.total ?? 0;
}

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
  content: as<InboundContent | null>("CASE WHEN m.message_type <> 'DELETED' THEN i.content END"),
  at: as<Date>('m.at'),
});
/** The message of a person as it was received, beside its place in the thread. */
const AS_RECEIVED = raw('LEFT JOIN inbound_message i ON i.account_id = m.account_id AND i.id = m.id');

export type ThreadMessage = RowOf<typeof THREAD_MESSAGE>;

type InThread = { readonly accountId: number; readonly chatId: string };

export const insertThreadMessages = (
  db: Db,
  rows: readonly (Omit<ThreadMessage, 'content'> & InThread)[],
): Promise<number> =>
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
type ThreadWindow = {
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
    sql`SELECT ${THREAD_MESSAGE} FROM inbox_message m ${AS_RECEIVED}
        WHERE m.account_id = ${accountId} AND m.chat_id = ${chatId}
          AND m.id >= ${idFrom ?? FIRST} AND m.id <= ${idTo ?? LAST}
        ORDER BY m.id ${newest ? sql`DESC` : sql`ASC`} LIMIT ${limit}`,
  );
  return newest ? rows.reverse() : rows;
}

const CHAT_ID = columns({ chatId: as<string>('m.chat_id') });

const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const listThreadMessages = (
  db: Db,
  { accountId, keys }: { accountId: number; keys: readonly { readonly chatId: string; readonly id: string }[] },
): Promise<(ThreadMessage & { chatId: string })[]> =>
  many(
    db,
    sql`SELECT ${CHAT_ID}, ${THREAD_MESSAGE}
        FROM ${rowsOf(keys, { chat_id: uuid((k) => k.chatId), id: uuid((k) => k.id) })} AS u
        JOIN inbox_message m ON m.account_id = ${accountId} AND m.chat_id = u.chat_id AND m.id = u.id ${AS_RECEIVED}`,
  );

/** Updates the file of a message, in whichever thread it is. */
export const updateThreadMedia = (
  db: Db,
  { accountId, id, media }: { readonly accountId: number; readonly id: string; readonly media: ThreadMedia },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_message SET media = ${JSON.stringify(media)}::jsonb
        WHERE account_id = ${accountId} AND id = ${id}`,
  );

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

import { bigint, int, rowsOf, text, timestamptz, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, type Sql, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';

/**
 * Holds the inboxes of these accounts until the transaction ends. Take them first, before anything of the inbox or of the
 * contacts. Each account once, in ascending order.
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

/** What a message, or several of one person, mean for their conversation. */
export type ConversationUpdate = {
  readonly accountId: number;
  /** For a conversation that there is not yet. */
  readonly newChatId: string;
  readonly channel: Channel;
  readonly peer: string;
  readonly identity: string;
  readonly profileName: string;
  /** How many of them nobody has read. */
  readonly unread: number;
  readonly windowExpiresAt: Date | null;
  /** Of the newest of them. */
  readonly direction: Direction;
  readonly messageType: string;
  readonly text: string;
  readonly at: Date;
};

/** A conversation that was changed, and how the lists counted it before: null when it is new. */
export type ChangedConversation = {
  accountId: number;
  chatId: string;
  channel: Channel;
  peer: string;
  archived: boolean;
  unread: number;
  wasArchived: boolean | null;
  wasUnread: number | null;
};

const CHANGED_CONVERSATION: Sql = sql`c.account_id AS "accountId", c.chat_id AS "chatId", c.channel, c.peer, new.archived, new.unread,
  old.archived AS "wasArchived", old.unread AS "wasUnread"`;

/** A list shows the beginning of a message. */
const PREVIEW_CHARACTERS = 1000;

/**
 * Makes conversations, or notes in them what was written; each at most once in a call. What people write brings a
 * conversation back from the archive, an answer leaves it there. The window of another number of ours says nothing.
 */
export const insertConversations = (
  db: Db,
  { rows, unarchive }: { rows: readonly ConversationUpdate[]; unarchive: boolean },
): Promise<ChangedConversation[]> =>
  many(
    db,
    sql`INSERT INTO conversation AS c (account_id, chat_id, channel, peer, identity, profile_name, unread,
          window_expires_at, last_direction, last_type, last_text, last_at)
        SELECT u.account_id, u.chat_id, u.channel, u.peer, u.identity, u.profile_name, u.unread, u.window_expires_at,
          u.direction, u.message_type, left(u.text, ${PREVIEW_CHARACTERS}), u.at
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          chat_id: uuid((r) => r.newChatId),
          channel: text((r) => r.channel),
          peer: text((r) => r.peer),
          identity: text((r) => r.identity),
          profile_name: text((r) => r.profileName),
          unread: int((r) => r.unread),
          window_expires_at: timestamptz((r) => r.windowExpiresAt),
          direction: text((r) => r.direction),
          message_type: text((r) => r.messageType),
          text: text((r) => r.text),
          at: timestamptz((r) => r.at),
        })} AS u
        ON CONFLICT (account_id, peer, channel) DO UPDATE SET
          identity = excluded.identity,
          profile_name = coalesce(nullif(excluded.profile_name, ''), c.profile_name),
          unread = c.unread + excluded.unread,
          archived = ${unarchive ? sql`false` : sql`c.archived`},
          window_expires_at = CASE WHEN c.identity = excluded.identity
            THEN greatest(c.window_expires_at, excluded.window_expires_at) ELSE excluded.window_expires_at END,
          last_direction = excluded.last_direction, last_type = excluded.last_type, last_text = excluded.last_text,
          last_at = greatest(c.last_at, excluded.last_at)
        RETURNING ${CHANGED_CONVERSATION}`,
  );

type One = { readonly accountId: number; readonly chatId: string };

/** Undefined: there is none, or nothing is unread. */
export const moveToRead = (db: Db, { accountId, chatId }: One): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET unread = 0
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.unread > 0 RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Undefined: there is none, or it is where it shall be. */
export const updateArchived = (
  db: Db,
  { accountId, chatId, archived }: One & { archived: boolean },
): Promise<ChangedConversation | undefined> =>
  maybeOne(
    db,
    sql`UPDATE conversation c SET archived = ${archived}
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId} AND c.archived <> ${archived} RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Undefined: there is none, or it is theirs already. Null takes it from whoever had it. */
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

/** Where an answer in a conversation goes, and as whom. */
export type Endpoints = { channel: Channel; peer: string; identity: string };

export const findEndpoints = (db: Db, { accountId, chatId }: One): Promise<Endpoints | undefined> =>
  maybeOne(
    db,
    sql`SELECT channel, peer, identity FROM conversation WHERE account_id = ${accountId} AND chat_id = ${chatId}`,
  );

/** What the lists count a conversation as. */
export type CountKey = {
  readonly accountId: number;
  readonly archived: boolean;
  readonly channel: Channel;
  readonly unread: boolean;
};

/** Adds to the counts; each kind once, of accounts whose inboxes are held. */
export const insertCounts = (db: Db, rows: readonly (CountKey & { readonly by: number })[]): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_count AS n (account_id, archived, channel, unread, conversations)
        SELECT u.account_id, u.archived = 1, u.channel, u.unread = 1, u.by FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          archived: int((r) => Number(r.archived)),
          channel: text((r) => r.channel),
          unread: int((r) => Number(r.unread)),
          by: bigint((r) => r.by),
        })} AS u
        ON CONFLICT (account_id, archived, channel, unread) DO UPDATE SET
          conversations = n.conversations + excluded.conversations`,
  );

export type AssignableUser = { id: number; username: string; role: string };

/** The people who may answer, by name. */
export const listAssignableUsers = (
  db: Db,
  { accountId, limit, offset }: { accountId: number; limit: number; offset: number },
): Promise<AssignableUser[]> =>
  many(
    db,
    sql`SELECT id, username, role FROM app_user WHERE account_id = ${accountId} AND role <> 'viewer'
        ORDER BY username LIMIT ${limit} OFFSET ${offset}`,
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

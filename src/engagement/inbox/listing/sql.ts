import { textArray } from '../../../platform/db/array.ts';
import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, join, many, maybeOne, one, type Sql, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Direction } from '../sql.ts';

/** A conversation with the names of its people. */
export type ConversationRow = {
  chatId: string;
  channel: Channel;
  peer: string;
  identity: string;
  profileName: string;
  unread: number;
  archived: boolean;
  windowExpiresAt: Date | null;
  lastDirection: Direction;
  lastType: string;
  lastText: string;
  lastAt: Date;
  contactId: number | null;
  contactName: string | null;
  assigneeId: number | null;
  assigneeName: string | null;
  optedOut: boolean;
};

/** Undefined filters let everything pass. */
export type ConversationFilter = {
  readonly accountId: number;
  readonly archived: boolean;
  readonly channels?: readonly Channel[] | undefined;
  readonly unreadOnly?: boolean | undefined;
  readonly assigneeId?: number | 'none' | undefined;
  /** At or after. */
  readonly since?: Date | undefined;
  /** Part of the number, of the name on the network, or of the contact's names and e-mail; in any case. */
  readonly search?: string | undefined;
};

const ORDERS = {
  lastMessageDate: sql`v.last_at`,
  unreadCount: sql`v.unread`,
} as const;
export const CONVERSATION_ORDERS = Object.keys(ORDERS) as (keyof typeof ORDERS)[];

export type ConversationOrder = { readonly by: keyof typeof ORDERS; readonly descending: boolean };

const matching = ({ accountId, archived, channels, unreadOnly, assigneeId, since, search }: ConversationFilter): Sql =>
  join(
    [
      sql`v.account_id = ${accountId} AND v.archived = ${archived}`,
      ...(assigneeId === undefined ? [] : [assignedTo(assigneeId)]),
      ...(channels ? [sql`v.channel = ANY(${textArray(channels)}::text[])`] : []),
      ...(unreadOnly ? [sql`v.unread > 0`] : []),
      ...(since ? [sql`v.last_at >= ${since}`] : []),
      ...(search === undefined ? [] : [sql`v.chat_id IN (SELECT search_conversations(${containsPattern(search)}))`]),
    ],
    ' AND ',
  );

const assignedTo = (assigneeId: number | 'none'): Sql =>
  assigneeId === 'none' ? sql`v.assignee_id IS NULL` : sql`v.assignee_id = ${assigneeId}`;

/** With whom, for the rows `v` of conversation. */
const withPeople = (accountId: number, rows: Sql): Sql => sql`
  SELECT v.chat_id AS "chatId", v.channel, v.peer, v.identity, v.profile_name AS "profileName", v.unread, v.archived,
         v.window_expires_at AS "windowExpiresAt", v.last_direction AS "lastDirection", v.last_type AS "lastType",
         v.last_text AS "lastText", v.last_at AS "lastAt", c.id AS "contactId", c.full_name AS "contactName",
         u.id AS "assigneeId", u.username AS "assigneeName", o.phone_number IS NOT NULL AS "optedOut"
  FROM (${rows}) AS v
  LEFT JOIN contact c ON c.account_id = ${accountId} AND c.phone_number = v.peer
  LEFT JOIN app_user u ON u.account_id = ${accountId} AND u.id = v.assignee_id
  LEFT JOIN opt_out o ON o.account_id = ${accountId} AND o.phone_number = v.peer AND o.channel = v.channel`;

type Paging = { readonly limit: number; readonly offset: number };

/** The people of a page only are looked up. */
export function listConversations(
  db: Db,
  { filter, order, limit, offset }: Paging & { filter: ConversationFilter; order: ConversationOrder },
): Promise<ConversationRow[]> {
  const direction = order.descending ? sql`DESC` : sql`ASC`;
  const by = sql`${ORDERS[order.by]} ${direction}, v.chat_id ${direction}`;
  const page = sql`SELECT v.* FROM conversation v WHERE ${matching(filter)} ORDER BY ${by} LIMIT ${limit} OFFSET ${offset}`;
  return many(db, sql`${withPeople(filter.accountId, page)} ORDER BY ${by}`);
}

/** From the counts where they know it, else by counting. */
export async function countConversations(db: Db, { filter }: { filter: ConversationFilter }): Promise<number> {
  const counted = filter.since === undefined && filter.search === undefined && filter.assigneeId === undefined;
  const { total } = await one<{ total: number }>(
    db,
    counted ? summed(filter) : sql`SELECT count(*) AS total FROM conversation v WHERE ${matching(filter)}`,
  );
  return total;
}

const summed = ({ accountId, archived, channels, unreadOnly }: ConversationFilter): Sql =>
  sql`SELECT coalesce(sum(conversations), 0)::bigint AS total FROM inbox_count
      WHERE account_id = ${accountId} AND archived = ${archived} ${unreadOnly ? sql`AND unread` : sql``}
        ${channels ? sql`AND channel = ANY(${textArray(channels)}::text[])` : sql``}`;

export const findConversation = (
  db: Db,
  { accountId, chatId }: { accountId: number; chatId: string },
): Promise<ConversationRow | undefined> =>
  maybeOne(
    db,
    withPeople(
      accountId,
      sql`SELECT v.* FROM conversation v WHERE v.account_id = ${accountId} AND v.chat_id = ${chatId}`,
    ),
  );

export const listConversationsById = (
  db: Db,
  { accountId, chatIds }: { accountId: number; chatIds: readonly string[] },
): Promise<ConversationRow[]> =>
  many(
    db,
    withPeople(
      accountId,
      sql`SELECT v.* FROM conversation v WHERE v.account_id = ${accountId} AND v.chat_id = ANY(${chatIds}::uuid[])`,
    ),
  );

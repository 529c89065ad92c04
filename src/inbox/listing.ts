import { Type } from 'typebox';
import type { Channel } from '../core/channels.ts';
import { bigint, insertRows, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  containsPattern,
  countRows,
  type Db,
  exec,
  join,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { id } from '../core/schema.ts';
import type { Direction } from './store.ts';

/** The colours of labels, by name: a client chooses shades that are readable on its background. */
const LABEL_COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const;

const Name = Type.String({ minLength: 1, maxLength: 40, pattern: String.raw`\S`, 'x-message': 'must not be empty' });
const Color = Type.Enum([...LABEL_COLORS], { type: 'string' });

export const LabelIn = Type.Object({ name: Name, color: Color });
export const LabelPatch = Type.Partial(LabelIn);
export const LabelOut = Type.Object({ id: Type.Integer(), name: Type.String(), color: Color });
type LabelColor = (typeof LABEL_COLORS)[number];

export const LabelId = Type.Object({ id: id() });
export const LabelIds = Type.Object({
  labelIds: Type.Array(id(), { maxItems: 20, uniqueItems: true, description: 'All labels of the conversation.' }),
});

export const LABEL = columns({ id: as<number>('r.id'), name: as<string>('r.name'), color: as<LabelColor>('r.color') });
/** A label that an account gives to conversations. */
type Label = RowOf<typeof LABEL>;

type Of = { readonly accountId: number };

export const deleteLabelling = (db: Db, { accountId, labelId }: Of & { readonly labelId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM conversation_label WHERE account_id = ${accountId} AND label_id = ${labelId}`);

type InChat = Of & { readonly chatId: string };

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

const CONVERSATION = columns({
  chatId: as<string>('v.chat_id'),
  channel: as<Channel>('v.channel'),
  /** The person: a number (E.164), or the name by which the network knows them. */
  peer: as<string>('v.peer'),
  /** Our number, agent or phone number id, of the newest message. */
  identity: as<string>('v.identity'),
  /** The person's name on the network; may be empty. */
  profileName: as<string>('v.profile_name'),
  unread: as<number>('v.unread'),
  archived: as<boolean>('v.archived'),
  /** Time at which it returns to the list; null: it is not snoozed. */
  snoozedUntil: as<Date | null>('v.snoozed_until'),
  /** WhatsApp: time until which a free-form reply reaches the person. */
  windowExpiresAt: as<Date | null>('v.window_expires_at'),
  lastDirection: as<Direction>('v.last_direction'),
  lastType: as<string>('v.last_type'),
  lastText: as<string>('v.last_text'),
  lastAt: as<Date>('v.last_at'),
  contactId: as<number | null>('c.id'),
  contactName: as<string | null>('c.full_name'),
  assigneeId: as<number | null>('u.id'),
  assigneeName: as<string | null>('u.username'),
  labels: as<Label[]>(`(
    SELECT coalesce(json_agg(json_build_object('id', b.id, 'name', b.name, 'color', b.color) ORDER BY lower(b.name)), '[]')
    FROM conversation_label l JOIN inbox_label b ON b.account_id = l.account_id AND b.id = l.label_id
    WHERE l.account_id = v.account_id AND l.chat_id = v.chat_id)`),
  /** True if the person has opted out of this channel. */
  optedOut: as<boolean>('o.phone_number IS NOT NULL'),
});

/** A conversation with its contact and its assignee. */
export type ConversationRow = RowOf<typeof CONVERSATION>;

/** Filter for listing conversations of an account. An undefined filter matches all of them. */
export type ConversationFilter = {
  readonly accountId: number;
  readonly archived: boolean;
  /** Restricts the archived ones to those that are snoozed (true), or to those that are not (false). */
  readonly snoozed?: boolean | undefined;
  readonly labelId?: number | undefined;
  readonly channels?: readonly Channel[] | undefined;
  readonly unreadOnly?: boolean | undefined;
  readonly assigneeId?: number | 'none' | undefined;
  /** The last message was at this instant or later. */
  readonly since?: Date | undefined;
  /** A part of the number, the name on the network, or the contact's names and email address; case-insensitive. */
  readonly search?: string | undefined;
};

const ORDERS = {
  lastMessageDate: sql`v.last_at`,
  unreadCount: sql`v.unread`,
} as const;
export const CONVERSATION_ORDERS = Object.keys(ORDERS) as (keyof typeof ORDERS)[];

export type ConversationOrder = { readonly by: keyof typeof ORDERS; readonly descending: boolean };

const matching = ({
  accountId,
  archived,
  channels,
  unreadOnly,
  assigneeId,
  since,
  search,
  ...more
}: ConversationFilter): Sql =>
  join(
    [
      sql`v.account_id = ${accountId} AND v.archived = ${archived}`,
      ...(more.snoozed === undefined ? [] : [more.snoozed ? IS_SNOOZED : sql`v.snoozed_until IS NULL`]),
      ...(more.labelId === undefined ? [] : [labelled(accountId, more.labelId)]),
      ...(assigneeId === undefined ? [] : [assignedTo(assigneeId)]),
      ...(channels ? [sql`v.channel = ANY(${textArray(channels)}::text[])`] : []),
      ...(unreadOnly ? [sql`v.unread > 0`] : []),
      ...(since ? [sql`v.last_at >= ${since}`] : []),
      ...(search === undefined ? [] : [sql`v.chat_id IN (SELECT search_conversations(${containsPattern(search)}))`]),
    ],
    ' AND ',
  );

const IS_SNOOZED = sql`v.snoozed_until IS NOT NULL`;

const labelled = (accountId: number, labelId: number): Sql =>
  sql`EXISTS (SELECT FROM conversation_label l
        WHERE l.account_id = ${accountId} AND l.label_id = ${labelId} AND l.chat_id = v.chat_id)`;

const assignedTo = (assigneeId: number | 'none'): Sql =>
  assigneeId === 'none' ? sql`v.assignee_id IS NULL` : sql`v.assignee_id = ${assigneeId}`;

/** Adds the contact and the assignee to the rows `v` of conversation. */
const withPeople = (accountId: number, rows: Sql): Sql => sql`
  SELECT ${CONVERSATION}
  FROM (${rows}) AS v
  LEFT JOIN contact c ON c.account_id = ${accountId} AND c.person = v.person
  LEFT JOIN app_user u ON u.account_id = ${accountId} AND u.id = v.assignee_id
  LEFT JOIN opt_out o ON o.account_id = ${accountId} AND o.person = v.person AND o.channel = v.channel`;

type Paging = { readonly limit: number; readonly offset: number };

/** Lists a page of conversations. Contacts and users are looked up for the page only. */
export function listConversations(
  db: Db,
  { filter, order, limit, offset }: Paging & { filter: ConversationFilter; order: ConversationOrder },
): Promise<ConversationRow[]> {
  const direction = order.descending ? sql`DESC` : sql`ASC`;
  const by = sql`${ORDERS[order.by]} ${direction}, v.chat_id ${direction}`;
  const page = sql`SELECT v.* FROM conversation v WHERE ${matching(filter)} ORDER BY ${by} LIMIT ${limit} OFFSET ${offset}`;
  return many(db, sql`${withPeople(filter.accountId, page)} ORDER BY ${by}`);
}

/** Returns the total of a list: from the counts if they have the filters, else by counting. */
export async function countConversations(db: Db, { filter }: { filter: ConversationFilter }): Promise<number> {
  const { since, search, assigneeId, labelId, snoozed } = filter;
  const counted = [since, search, assigneeId, labelId].every((part) => part === undefined);
  if (!counted || snoozed === true) return countMatching(db, filter);
  const total = await countSummed(db, filter);
  // Few are snoozed, many may be archived.
  return snoozed === false && filter.archived ? total - (await countMatching(db, { ...filter, snoozed: true })) : total;
}

const countMatching = (db: Db, filter: ConversationFilter): Promise<number> =>
  countRows(db, sql`FROM conversation v WHERE ${matching(filter)}`);

async function countSummed(db: Db, { accountId, archived, channels, unreadOnly }: ConversationFilter): Promise<number> {
  const { total } = await one<{ total: number }>(
    db,
    sql`SELECT coalesce(sum(conversations), 0)::bigint AS total FROM inbox_count
        WHERE account_id = ${accountId} AND archived = ${archived} ${unreadOnly ? sql`AND unread` : sql``}
          ${channels ? sql`AND channel = ANY(${textArray(channels)}::text[])` : sql``}`,
  );
  return total;
}

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

import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { isRich } from '../core/channels.ts';
import { bigint, insertRows, int, rowsOf, text, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import type { StatusName } from '../core/message-state.ts';
import { instant, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { findRecords, statusOf } from '../messages/status.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import type { ConversationRow } from './listing.ts';
import type { ConversationOut, MessageOut } from './schema.ts';
import * as db from './store.ts';
import { showReadIfWanted } from './ticks.ts';
import {
  type ChangedConversation,
  type CountKey,
  claimInboxes,
  findAccountToWake,
  insertCounts,
  moveToAwake,
  type ThreadMedia,
  type ThreadMessage,
} from './store.ts';

/** Converts a conversation to its form in the API. Without the scope `contacts`, the data of the contact is omitted. */
export const toConversationOut = (
  row: ConversationRow,
  { operations }: Pick<Actor, 'operations'>,
): ConversationOut => ({
  chatId: row.chatId,
  channel: row.channel,
  contact: {
    id: operations.has('contacts') ? row.contactId : null,
    name: (operations.has('contacts') && row.contactName) || row.profileName || row.peer,
    phoneNumber: row.peer.startsWith('+') ? row.peer : null,
    optedOut: row.optedOut,
  },
  channelIdentity: row.identity,
  unreadCount: row.unread,
  lastMessage: {
    text: row.lastText,
    direction: row.lastDirection,
    timestamp: row.lastAt.toISOString(),
    messageType: row.lastType,
  },
  lastMessageDate: row.lastAt.toISOString(),
  archived: row.archived,
  snoozedUntil: row.snoozedUntil?.toISOString() ?? null,
  labels: row.labels,
  assignee:
    row.assigneeId === null || row.assigneeName === null
      ? null
      : { userId: row.assigneeId, username: row.assigneeName },
  windowExpiresAt: row.windowExpiresAt?.toISOString() ?? null,
});

/** Converts a note to its form in the API. */
export const toNoteOut = ({ id, text, authorId, author, createdAt }: Note): NoteOut => ({
  id,
  text,
  author: { userId: authorId, name: author },
  timestamp: createdAt.toISOString(),
});

export type FindFiles = (accountId: number, mediaIds: readonly number[]) => Promise<ReadonlyMap<number, FileLink>>;
export type FileLink = {
  readonly url: string;
  readonly thumbnailUrl: string | null;
  readonly mimeType: string;
  readonly sizeBytes: number;
};

/** Converts messages of threads to their form in the API, with the statuses of replies and links to the files. */
export async function toMessagesOut(
  db: Db,
  findFiles: FindFiles,
  { accountId, messages }: { readonly accountId: number; readonly messages: readonly ThreadMessage[] },
): Promise<MessageOut[]> {
  const sent = messages.flatMap(({ id, direction }) => (direction === 'OUTBOUND' ? [id] : []));
  const mediaIds = messages.flatMap(({ media }) => media?.mediaId ?? []);
  const [statuses, files] = await Promise.all([
    findStatuses(db, { accountId, ids: sent }),
    mediaIds.length > 0 ? findFiles(accountId, mediaIds) : new Map<number, FileLink>(),
  ]);
  return messages.map((message) => toMessageOut(message, statuses.get(message.id) ?? null, files));
}

/** The status of a reply: READ comes after DELIVERED. */
export type DeliveryStatus = StatusName | 'READ';

/** Finds the statuses of replies by their ids; messages that are no longer stored are omitted. */
export async function findStatuses(
  db: Db,
  { accountId, ids }: { readonly accountId: number; readonly ids: readonly string[] },
): Promise<Map<string, DeliveryStatus>> {
  if (ids.length === 0) return new Map();
  const records = await findRecords(db, { accountId }, { ids, clientIds: [] });
  return new Map(records.map((record) => [record.id, record.readAt ? 'READ' : statusOf(record)]));
}

const toMessageOut = (
  { id, direction, text, messageType, media, consent, content, at }: ThreadMessage,
  deliveryStatus: DeliveryStatus | null,
  files: ReadonlyMap<number, FileLink>,
): MessageOut => ({
  id,
  direction,
  text,
  messageType,
  deliveryStatus,
  consent,
  content,
  media: media && toMediaOut(media, files.get(media.mediaId ?? 0)),
  timestamp: at.toISOString(),
});

/** Converts a file to its form in the API; without `file`, it is not available (yet). */
export const toMediaOut = ({ mediaId, state, mimeType, fileName }: ThreadMedia, file: FileLink | undefined) => ({
  id: mediaId,
  state,
  url: file?.url ?? null,
  thumbnailUrl: file?.thumbnailUrl ?? null,
  mimeType: file?.mimeType ?? mimeType,
  fileName,
  sizeBytes: file?.sizeBytes ?? null,
});

/**
 * Publishes changes of inboxes: updates the counts of changed conversations, stores the events, and notifies every
 * process when the transaction commits. Call it once, in a transaction that has locked these inboxes (`claimInboxes`).
 */
export async function publishInboxChanges(
  tx: Db,
  { changed, events }: { readonly changed: readonly ChangedConversation[]; readonly events: readonly NewInboxEvent[] },
): Promise<void> {
  const counts = countDeltas(changed);
  if (counts.length > 0) await insertCounts(tx, counts);
  if (events.length > 0) await storeEvents(tx, events);
}

async function storeEvents(tx: Db, events: readonly NewInboxEvent[]): Promise<void> {
  const byAccount = Map.groupBy(events, (event) => event.accountId);
  const counts = [...byAccount].map(([accountId, { length: count }]) => ({ accountId, count }));
  const before = new Map((await updateLastEvents(tx, counts)).map((row) => [row.accountId, row.before]));
  const rows = [...byAccount].flatMap(([accountId, list]) =>
    list.map((event, n) => ({ ...event, id: (before.get(accountId) ?? 0) + n + 1 })),
  );
  await insertInboxEvents(tx, rows);
}

/** Returns the amounts to add to the counts: each key once, and none with zero. */
function countDeltas(changed: readonly ChangedConversation[]): (CountKey & { by: number })[] {
  const sums = new Map<string, CountKey & { by: number }>();
  const add = (kind: CountKey, by: number): void => {
    const key = JSON.stringify([kind.accountId, kind.archived, kind.channel, kind.unread]);
    const sum = sums.get(key) ?? { ...kind, by: 0 };
    sums.set(key, { ...sum, by: sum.by + by });
  };
  for (const { accountId, channel, archived, unread, wasArchived, wasUnread } of changed) {
    add({ accountId, channel, archived, unread: unread > 0 }, 1);
    if (wasArchived !== null && wasUnread !== null)
      add({ accountId, channel, archived: wasArchived, unread: wasUnread > 0 }, -1);
  }
  return [...sums.values()].filter((sum) => sum.by !== 0);
}

const PER_TURN = 200;

/** Returns snoozed conversations of one account whose time has come to its list. Returns their number. */
export async function wakeConversations(pool: Pool): Promise<number> {
  const due = await findAccountToWake(pool);
  if (!due) return 0;
  const { accountId } = due;
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    const changed = await moveToAwake(tx, { accountId, limit: PER_TURN });
    const events = changed.map(({ chatId }) => ({ accountId, kind: 'conversation', chatId, messageId: null }) as const);
    await publishInboxChanges(tx, { changed, events });
    return changed.length;
  });
}

export const NoteIn = Type.Object({
  text: Type.String({ minLength: 1, maxLength: 4096, pattern: String.raw`\S`, 'x-message': 'must not be empty' }),
});
export const NoteOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  text: Type.String(),
  author: Type.Object({
    userId: orNull(Type.Integer({ description: 'Null: an operator, or an API key that no user made.' })),
    name: Type.String({ description: 'The name at the time of the note.' }),
  }),
  timestamp: instant('UTC'),
});
export type NoteOut = Static<typeof NoteOut>;
export const NoteKey = Type.Object({ chatId: Type.String({ format: 'uuid' }), id: Type.String({ format: 'uuid' }) });

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

/** The NOTIFY channel for changes of inboxes; the payload is the id of the account. */
export const INBOX_CHANNEL = 'heliograph_inbox';

type EventKind = 'message' | 'status' | 'conversation' | 'note';

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

/**
 * Marks a conversation as read, and shows that to the person if the account wants it; no error if it is already read.
 * Errors: 404.
 */
export const markRead = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, async (key) => {
    const changed = await db.moveToRead(tx, key);
    if (changed && isRich(changed.channel)) await showReadIfWanted(tx, key);
    return changed;
  });

/** Marks a conversation as unread; no error if it is already unread. Errors: 404. */
export const markUnread = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.moveToUnread(tx, key));

/**
 * Archives a conversation until an instant, or until the person writes before then, with an audit entry. Errors: 404;
 * 400 when the instant is not within the next year.
 */
export async function snooze(
  tx: Db,
  actor: Author,
  chatId: string,
  { until, now }: { until: Date | null; now: Date },
): Promise<void> {
  const inMs = (until?.getTime() ?? 0) - now.getTime();
  if (until === null || inMs <= 0 || inMs > MAX_SNOOZE_MS)
    throw invalidFields([{ field: 'until', message: 'must be in the future, and within a year' }]);
  await changeConversation(tx, actor, chatId, (key) => db.updateSnoozed(tx, { ...key, until }), {
    action: 'conversation.snooze',
    detail: { until: until.toISOString() },
  });
}

const MAX_SNOOZE_MS = 366 * DAY_MS;

/** Archives or unarchives a conversation, with an audit entry. Errors: 404. */
export const setArchived = (tx: Db, actor: Author, chatId: string, archived: boolean): Promise<void> =>
  changeConversation(
    tx,
    actor,
    chatId,
    (key) => moveToArchived(tx, { ...key, archived, userId: actor.userId ?? null }),
    {
      action: archived ? 'conversation.archive' : 'conversation.unarchive',
    },
  );

async function moveToArchived(
  tx: Db,
  { userId, ...moved }: ConversationKey & { readonly archived: boolean; readonly userId: number | null },
) {
  const changed = await db.updateArchived(tx, moved);
  const { accountId, chatId, archived } = moved;
  if (changed && archived)
    await publishFacts(tx, [{ accountId, type: 'conversation.closed', about: chatId, data: { chatId, userId } }]);
  return changed;
}

/**
 * Assigns a conversation to a user, or to no one (null), with an audit entry. Errors: 404 when there is no such
 * conversation, 400 when no user of the account who may reply has this id.
 */
export async function assign(tx: Db, actor: Author, chatId: string, userId: number | null): Promise<void> {
  await changeConversation(tx, actor, chatId, (key) => moveToAssignee(tx, { ...key, userId }), {
    action: 'conversation.assign',
    detail: { userId },
  });
}

async function moveToAssignee(tx: Db, assigned: Assigned) {
  const { accountId, userId } = assigned;
  // The inbox is claimed: a user who is being removed is either gone, or loses this conversation too.
  if (userId !== null && !(await db.findAssignableUser(tx, { accountId, userId })))
    throw invalidFields([{ field: 'userId', message: 'no user with this id can be assigned' }]);
  const changed = await db.updateAssignee(tx, assigned);
  if (changed) await publishAssigned(tx, [assigned]);
  return changed;
}

/** A conversation with its new assignee; null: no one. */
type Assigned = ConversationKey & { readonly userId: number | null };

/** Publishes that conversations were assigned. */
export const publishAssigned = (tx: Db, assigned: readonly Assigned[]): Promise<void> =>
  publishFacts(
    tx,
    assigned.map(({ accountId, chatId, userId }) => ({
      accountId,
      type: 'conversation.assigned',
      about: chatId,
      data: { chatId, userId },
    })),
  );

type ConversationKey = { readonly accountId: number; readonly chatId: string };
type Audited = { readonly action: string; readonly detail?: Readonly<Record<string, unknown>> };

/**
 * Changes a conversation in a transaction that has claimed no inbox yet, with an audit entry if `audited`. When `move`
 * returns undefined because the conversation already has that state, nothing is written and no one is notified. Errors:
 * 404.
 */
export async function changeConversation(
  tx: Db,
  actor: Author,
  chatId: string,
  move: (key: ConversationKey) => Promise<db.ChangedConversation | undefined>,
  audited?: Audited,
): Promise<void> {
  const { accountId } = actor;
  const key = { accountId, chatId };
  await db.claimInboxes(tx, { accountIds: [accountId] });
  const changed = await move(key);
  if (!changed) {
    if (!(await db.findEndpoints(tx, key))) throw new AppError('not_found');
    return;
  }
  if (audited) await recordAudit(tx, actor, { ...audited, subject: `conversation:${chatId}` });
  const event = { accountId, kind: 'conversation', chatId, messageId: null } as const;
  await publishInboxChanges(tx, { changed: [changed], events: [event] });
}

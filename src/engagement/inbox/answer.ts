import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { StatusName } from '../../messaging/states.ts';
import { findRecords, statusOf } from '../../messaging/tracking/status.ts';
import type { ConversationRow } from './listing/sql.ts';
import type { NoteOut } from './notes/schema.ts';
import type { Note } from './notes/sql.ts';
import type { ConversationOut, MessageOut } from './schema.ts';
import type { ThreadMedia, ThreadMessage } from './thread/sql.ts';

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

/** Finds links to stored files, by their ids. */
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
  { id, direction, text, messageType, media, consent, at }: ThreadMessage,
  deliveryStatus: DeliveryStatus | null,
  files: ReadonlyMap<number, FileLink>,
): MessageOut => ({
  id,
  direction,
  text,
  messageType,
  deliveryStatus,
  consent,
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

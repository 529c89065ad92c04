import type { Db } from '../../../platform/db/query.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { toMessagesOut, type FindFiles, findStatuses, toConversationOut, toNoteOut } from '../answer.ts';
import { listConversationsById } from '../listing/sql.ts';
import { listNotesById } from '../notes/sql.ts';
import { listThreadMessages } from '../thread/sql.ts';
import type { InboxEvent } from './sql.ts';

/** The caller to whom events are shown. */
type Reader = Pick<Actor, 'accountId' | 'operations'>;

/** An event as it is sent to clients. */
export type StreamEvent = { readonly id?: string; readonly event: string; readonly data: unknown };

/**
 * Renders events with the current state of their subject: a missed event shows the current state, and events about
 * deleted subjects are omitted.
 */
export async function renderEvents(
  db: Db,
  findFiles: FindFiles,
  { actor, events }: { readonly actor: Reader; readonly events: readonly InboxEvent[] },
): Promise<StreamEvent[]> {
  const { accountId } = actor;
  const [conversations, messages, statuses, notes] = await Promise.all([
    findConversations(db, actor, events),
    findMessages(db, findFiles, accountId, events),
    findStatuses(db, { accountId, ids: idsOf(events, 'status') }),
    findNotes(db, accountId, events),
  ]);
  return events.flatMap(({ id, kind, chatId, messageId }) => {
    const data = {
      conversation: conversations.get(chatId),
      message: messages.get(messageId ?? ''),
      // A deleted note is shown as its id alone, so that views drop it.
      note: notes.get(messageId ?? '') ?? { chatId, id: messageId },
      status: statusOf(chatId, messageId, statuses.get(messageId ?? '')),
    }[kind];
    return data ? [{ id: String(id), event: kind, data }] : [];
  });
}

const statusOf = (chatId: string, messageId: string | null, deliveryStatus: string | undefined) =>
  deliveryStatus && { chatId, messageId, deliveryStatus };

const idsOf = (events: readonly InboxEvent[], kind: InboxEvent['kind']): string[] => [
  ...new Set(events.flatMap((event) => (event.kind === kind ? (event.messageId ?? []) : []))),
];

async function findConversations(db: Db, actor: Reader, events: readonly InboxEvent[]) {
  const { accountId } = actor;
  const chatIds = [...new Set(events.flatMap(({ kind, chatId }) => (kind === 'conversation' ? [chatId] : [])))];
  const rows = chatIds.length > 0 ? await listConversationsById(db, { accountId, chatIds }) : [];
  return new Map(rows.map((row) => [row.chatId, toConversationOut(row, actor)]));
}

async function findNotes(db: Db, accountId: number, events: readonly InboxEvent[]) {
  const keys = events.flatMap(({ kind, chatId, messageId: id }) => (kind === 'note' && id ? [{ chatId, id }] : []));
  const notes = keys.length > 0 ? await listNotesById(db, { accountId, keys }) : [];
  return new Map(notes.map((note) => [note.id, { chatId: note.chatId, ...toNoteOut(note) }]));
}

async function findMessages(db: Db, findFiles: FindFiles, accountId: number, events: readonly InboxEvent[]) {
  const wanted = new Map(events.flatMap((e) => (e.kind === 'message' && e.messageId ? [[e.messageId, e]] : [])));
  const keys = [...wanted].map(([id, { chatId }]) => ({ chatId, id }));
  if (keys.length === 0) return new Map();
  const messages = await listThreadMessages(db, { accountId, keys });
  const answers = await toMessagesOut(db, findFiles, { accountId, messages });
  return new Map(answers.map((answer) => [answer.id, { chatId: wanted.get(answer.id)?.chatId, ...answer }]));
}

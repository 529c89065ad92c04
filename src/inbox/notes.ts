import { Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { newId } from '../core/ids.ts';
import * as db from './conversations.ts';
import { listNotes, NoteIn, NoteKey, NoteOut, publishInboxChanges, toNoteOut } from './conversations.ts';
import { ChatId } from './schema.ts';
import { claimInboxes, findEndpoints } from './store.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations/:chatId/notes';
const tags = ['Inbox'];
const MAX_NOTES = 500;

/** Registers the routes for notes about conversations. Notes are separate from messages, so that none is ever sent. */
export function noteRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('inbox');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listConversationNotes',
      summary: 'List the notes about a conversation',
      description: `The newest ${MAX_NOTES}, the oldest of them first. Notes are for colleagues and never sent.`,
      params: ChatId,
      response: { 200: Type.Array(NoteOut) },
    },
    handler: async ({ actor, params }) => {
      const db = tenant(pool, actor);
      const key = { accountId: actor.accountId, chatId: params.chatId };
      const notes = await listNotes(db, { ...key, limit: MAX_NOTES });
      if (notes.length === 0 && !(await findEndpoints(db, key))) throw new AppError('not_found');
      return notes.map(toNoteOut);
    },
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'addConversationNote',
      summary: 'Write a note about a conversation',
      description: 'Only colleagues see it.',
      params: ChatId,
      body: withExamples(NoteIn, { text: 'Called her: the parcel is at the neighbour’s.' }),
      response: { 201: NoteOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, params, body }, tx) =>
      toNoteOut(await writeNote(tx, actor, { ...body, ...params })),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteConversationNote',
      summary: 'Delete a note',
      params: NoteKey,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => deleteNote(tx, actor, params)),
  });
}

type Key = { readonly chatId: string };

/** Writes a note about a conversation, and shows it in live views. Nothing is sent. Errors: 404. */
async function writeNote(tx: Db, actor: Actor, { chatId, text }: Key & { text: string }): Promise<db.Note> {
  const { accountId } = actor;
  await claimInboxes(tx, { accountIds: [accountId] });
  if (!(await findEndpoints(tx, { accountId, chatId }))) throw new AppError('not_found');
  const author = actor.username ?? 'API';
  const note = await db.insertNote(tx, { accountId, chatId, id: newId(), authorId: actor.userId, author, text });
  await publishNote(tx, { accountId, chatId, id: note.id });
  return note;
}

/** Deletes a note, with an audit entry that does not repeat it. Errors: 404. */
async function deleteNote(tx: Db, actor: Actor, { chatId, id }: Key & { id: string }): Promise<void> {
  const { accountId } = actor;
  await claimInboxes(tx, { accountIds: [accountId] });
  const gone = await existing(db.deleteNote(tx, { accountId, chatId, id }));
  const detail = { note: id, author: gone.author };
  await recordAudit(tx, actor, { action: 'conversation.delete-note', subject: `conversation:${chatId}`, detail });
  await publishNote(tx, { accountId, chatId, id });
}

const publishNote = (tx: Db, { accountId, chatId, id }: Key & { accountId: number; id: string }): Promise<void> =>
  publishInboxChanges(tx, { changed: [], events: [{ accountId, kind: 'note', chatId, messageId: id }] });

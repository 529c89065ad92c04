import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../../platform/db/tenant.ts';
import { AppError } from '../../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../../platform/http/app.ts';
import { requireScope } from '../../../../platform/http/auth.ts';
import { idempotentTx } from '../../../../platform/http/idempotency.ts';
import { withExamples } from '../../../../platform/http/schema.ts';
import { toNoteOut } from '../../answer.ts';
import { NoteIn, NoteKey, NoteOut } from '../../notes/schema.ts';
import { listNotes } from '../../notes/sql.ts';
import { ChatId } from '../../schema.ts';
import { findEndpoints } from '../../sql.ts';
import { deleteNote, writeNote } from './write.ts';

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
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => deleteNote(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}

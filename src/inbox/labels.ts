import { Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { changeConversation } from './conversations.ts';
import * as db from './listing.ts';
import { LabelId, LabelIds, LabelIn, LabelOut, LabelPatch, listLabels } from './listing.ts';
import { ChatId } from './schema.ts';
import { findChanged } from './store.ts';

const INBOX = '/api/partner-gateway/v1/inbox';
const tags = ['Inbox'];

/** Registers the routes for the labels of an account and of its conversations. */
export function labelRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('inbox');

  app.get(`${INBOX}/labels`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listInboxLabels',
      summary: 'List the labels of conversations',
      description: 'All of them (up to 200), by name.',
      response: { 200: Type.Array(LabelOut) },
    },
    handler: ({ actor }) => listLabels(tenant(pool, actor), { accountId: actor.accountId }),
  });

  app.post(`${INBOX}/labels`, {
    onRequest,
    schema: {
      tags,
      operationId: 'addInboxLabel',
      summary: 'Add a label for conversations',
      description: 'Names are unique in any case.',
      body: withExamples(LabelIn, { name: 'Complaint', color: 'red' }),
      response: { 201: LabelOut },
    },
    handler: idempotentTx({ pool, answers }, 201, ({ actor, body }, tx) => addLabel(tx, actor, body)),
  });

  app.patch(`${INBOX}/labels/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeInboxLabel',
      summary: 'Change a label',
      description: 'Omitted fields are unchanged.',
      params: LabelId,
      body: withExamples(LabelPatch, { color: 'orange' }),
      response: { 200: LabelOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) => changeLabel(tx, actor, { ...body, ...params })),
  });

  app.delete(`${INBOX}/labels/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteInboxLabel',
      summary: 'Delete a label',
      description: 'It is removed from its conversations.',
      params: LabelId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeLabel(tx, actor, params)),
  });

  app.put(`${INBOX}/conversations/:chatId/labels`, {
    onRequest,
    schema: {
      tags,
      operationId: 'labelConversation',
      summary: 'Set the labels of a conversation',
      description: 'Replaces the existing labels.',
      params: ChatId,
      body: withExamples(LabelIds, { labelIds: [] }),
      response: { 204: Type.Null({ description: 'Done, or nothing had to be changed' }) },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) => setLabels(tx, actor, params.chatId, body.labelIds)),
  });
}

const MAX_LABELS = 200;

/** Adds a label to those of the account. Errors: 409 when the name is taken, or there are already 200. */
async function addLabel(tx: Db, author: Author, { name, color }: LabelIn): Promise<db.Label> {
  const { accountId } = author;
  if ((await db.countLabels(tx, { accountId })) >= MAX_LABELS)
    throw new AppError('conflict', { message: `An account may have ${MAX_LABELS} labels` });
  const made = await db.insertLabel(tx, { accountId, name: name.trim(), color });
  if (!made) throw taken();
  await record(tx, author, 'inbox-label.add', made);
  return made;
}

/** Changes the name or the colour of a label. Errors: 404; 409 when the name is taken. */
async function changeLabel(
  tx: Db,
  author: Author,
  { id, name, color }: Partial<LabelIn> & { readonly id: number },
): Promise<db.Label> {
  const input = { accountId: author.accountId, id, name: name?.trim() ?? null, color: color ?? null };
  const made = await db.updateLabel(tx, input).catch(explainTaken);
  if (!made) throw new AppError('not_found');
  await record(tx, author, 'inbox-label.change', made);
  return made;
}

/** Deletes a label, also from its conversations. Errors: 404. */
async function removeLabel(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const gone = await db.deleteLabel(tx, { accountId: author.accountId, id });
  if (!gone) throw new AppError('not_found');
  await record(tx, author, 'inbox-label.remove', gone);
}

/** Replaces the labels of a conversation. Errors: 404; 400 when the account has no such label. */
async function setLabels(tx: Db, author: Author, chatId: string, labelIds: readonly number[]): Promise<void> {
  const { accountId } = author;
  await changeConversation(
    tx,
    author,
    chatId,
    async (key) => {
      const conversation = await findChanged(tx, key);
      if (!conversation) return undefined;
      const known = await db.lockLabels(tx, { accountId, ids: labelIds });
      if (known.length < labelIds.length)
        throw invalidFields([{ field: 'labelIds', message: 'contains an unknown label id' }]);
      const taken = await db.deleteOtherLabels(tx, { ...key, labelIds });
      const rows = labelIds.map((labelId) => ({ ...key, labelId }));
      const given = rows.length > 0 ? await db.insertConversationLabels(tx, rows) : 0;
      return taken + given > 0 ? conversation : undefined;
    },
    { action: 'conversation.label', detail: { labelIds } },
  );
}

const taken = (): AppError => new AppError('conflict', { message: 'A label with this name already exists' });

const explainTaken = (cause: unknown): never => {
  throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? taken() : cause;
};

const record = (tx: Db, author: Author, action: string, { id, name, color }: db.Label): Promise<void> =>
  recordAudit(tx, author, { action, subject: `inbox-label:${id}`, detail: { name, color } });

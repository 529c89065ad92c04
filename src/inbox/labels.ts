import { Type } from 'typebox';
import type { Author } from '../accounts/audit.ts';
import { collection } from '../accounts/collection.ts';
import { type Db, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { changeConversation } from './conversations.ts';
import * as db from './listing.ts';
import { LABEL, LabelId, LabelIds, LabelIn, LabelOut, LabelPatch } from './listing.ts';
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
    handler: ({ actor }) => LABELS.list(tenant(pool, actor), actor),
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
    handler: idempotentTx({ pool, answers }, 201, ({ actor, body: { name, color } }, tx) =>
      LABELS.add(tx, actor, { name: name.trim(), color }),
    ),
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
      tenantTransaction(pool, actor, (tx) =>
        LABELS.change(tx, actor, params, (label) => ({
          name: body.name?.trim() ?? label.name,
          color: body.color ?? label.color,
        })),
      ),
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
    handler: ({ actor, params }) =>
      tenantTransaction(pool, actor, async (tx) => {
        await db.deleteLabelling(tx, { accountId: actor.accountId, labelId: params.id });
        await LABELS.remove(tx, actor, params);
      }),
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

/** The labels of an account. */
export const LABELS = collection({
  table: 'inbox_label',
  columns: LABEL,
  fields: ['name', 'color'],
  order: sql`lower(r.name)`,
  max: 200,
  full: 'An account may have 200 labels',
  taken: 'A label with this name already exists',
  audit: 'inbox-label',
  detail: ({ name, color }) => ({ name, color }),
});

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

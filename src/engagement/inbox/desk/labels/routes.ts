import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../../platform/http/app.ts';
import { requireScope } from '../../../../platform/http/auth.ts';
import { idempotentTx } from '../../../../platform/http/idempotency.ts';
import { withExamples } from '../../../../platform/http/schema.ts';
import { LabelId, LabelIds, LabelIn, LabelOut, LabelPatch } from '../../labels/schema.ts';
import { listLabels } from '../../labels/sql.ts';
import { ChatId } from '../../schema.ts';
import { addLabel, changeLabel, removeLabel, setLabels } from './change.ts';

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
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeLabel(tx, actor, params));
      return reply.code(204).send(null);
    },
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
    handler: async ({ actor, params, body }, reply) => {
      await tenantTransaction(pool, actor, (tx) => setLabels(tx, actor, params.chatId, body.labelIds));
      return reply.code(204).send(null);
    },
  });
}

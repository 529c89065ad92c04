import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../../platform/http/app.ts';
import { requireScope } from '../../../../platform/http/auth.ts';
import { idempotentTx } from '../../../../platform/http/idempotency.ts';
import { withExamples } from '../../../../platform/http/schema.ts';
import { addCannedAnswer, changeCannedAnswer, removeCannedAnswer } from './change.ts';
import { CannedAnswerId, CannedAnswerIn, CannedAnswerOut, CannedAnswerPatch } from './schema.ts';
import { listCannedAnswers } from './sql.ts';

const PATH = '/api/partner-gateway/v1/inbox/canned-answers';
const tags = ['Inbox'];

/** Registers the routes for the canned answers that the agents of an account share. */
export function cannedAnswerRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('inbox');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listCannedAnswers',
      summary: 'List the canned answers',
      description: 'All of them (up to 500), by shortcut.',
      response: { 200: Type.Array(CannedAnswerOut) },
    },
    handler: ({ actor }) => listCannedAnswers(tenant(pool, actor), { accountId: actor.accountId }),
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'addCannedAnswer',
      summary: 'Add a canned answer',
      body: withExamples(CannedAnswerIn, { shortcut: 'hours', text: 'Hello {{firstName}}, we are open from 9 to 18.' }),
      response: { 201: CannedAnswerOut },
    },
    handler: idempotentTx({ pool, answers }, 201, ({ actor, body }, tx) => addCannedAnswer(tx, actor, body)),
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeCannedAnswer',
      summary: 'Change a canned answer',
      description: 'Omitted fields are unchanged.',
      params: CannedAnswerId,
      body: withExamples(CannedAnswerPatch, { text: 'We are open from 10 to 18.' }),
      response: { 200: CannedAnswerOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) => changeCannedAnswer(tx, actor, { ...body, ...params })),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteCannedAnswer',
      summary: 'Delete a canned answer',
      params: CannedAnswerId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeCannedAnswer(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}

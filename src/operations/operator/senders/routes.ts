import { Type } from 'typebox';
import { assignNumber, removeNumber } from '../../../messaging/inbound/assign.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { requireAccount } from '../accounts/find.ts';
import { operatorNameOf } from '../author.ts';
import { IdParams, Done, OPERATOR_PATH } from '../fields.ts';
import { assignSenderTo, registerRequestedAgent, removeSenderById } from './assign.ts';
import * as schema from './schema.ts';
import * as db from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: senders'];
const SENDERS = `${OPERATOR_PATH}/senders`;
const NUMBERS = `${OPERATOR_PATH}/numbers`;

const SenderQuery = Type.Object({ ...pageFields, ...schema.senderFilter });
const NumbersQuery = Type.Object({ ...pageFields, ...schema.numberFilter });
const TemplateQuery = Type.Object({ ...pageFields, ...schema.templateFilter });

/**
 * Registers the routes for senders, inbound numbers and templates. Running programs follow every change immediately.
 */
export function operatorSenderRoutes(app: App, deps: PlatformDeps): void {
  senderRoutes(app, deps);
  numberRoutes(app, deps);
  templateRoutes(app, deps);
}

function senderRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(SENDERS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListSenders',
      summary: 'List WhatsApp numbers and RCS agents',
      description: 'Agents that wait to be registered come first.',
      querystring: SenderQuery,
      response: { 200: PageOf(schema.SenderOut) },
    },
    handler: async ({ query }) => {
      const filter = { channel: query.channel ?? null, search: query.search ?? null };
      const rows = await db.listSenderPage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(schema.toSender), await db.countSenders(pool, filter));
    },
  });

  app.post(SENDERS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAssignSender',
      summary: 'Assign a phone number or an agent to an account',
      description:
        'With `accountId` null it is shared by all accounts. Assigning it again moves it to another account. The numbers of ' +
        'one WhatsApp connection share its templates, so they must all belong to one account or all be shared; otherwise ' +
        'the response is 409.',
      body: withExamples(schema.SenderIn, {
        identity: 'acme-offers',
        connection: 'sandbox-rcs',
        accountId: 1,
        name: 'Acme',
      }),
      response: { 201: schema.SenderOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { name = '', ...body } }, tx) =>
      schema.toSender(await assignSenderTo(tx, operatorNameOf(actor), { ...body, name })),
    ),
  });

  app.post(`${SENDERS}/:id/register`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorRegisterAgent',
      summary: 'Register a requested agent under its id',
      params: IdParams,
      body: withExamples(schema.Registration, { identity: 'acme-agent', connection: 'sandbox-rcs' }),
      response: { 200: schema.SenderOut },
    },
    handler: idempotentGlobal(deps, 200, async ({ actor, params, body }, tx) =>
      schema.toSender(await registerRequestedAgent(tx, operatorNameOf(actor), { ...body, ...params })),
    ),
  });

  app.delete(`${SENDERS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteSender',
      summary: 'Delete a sender: nothing can be sent as it any more',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removeSenderById(tx, operatorNameOf(actor), params));
      return reply.code(204).send(null);
    },
  });
}

function numberRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(NUMBERS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListNumbers',
      summary: 'List inbound SMS numbers and their accounts',
      querystring: NumbersQuery,
      response: { 200: PageOf(schema.NumberOut) },
    },
    handler: async ({ query }) => {
      const filter = { connection: query.connection ?? null };
      const rows = await db.listNumberPage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(schema.toNumber), await db.countNumbers(pool, filter));
    },
  });

  app.post(NUMBERS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAssignNumber',
      summary: 'Assign a number to an account',
      description: 'Assigning it again moves it to another account.',
      body: withExamples(schema.NumberIn, { number: '+393399957020', connection: 'sandbox', accountId: 1 }),
      response: { 201: schema.AssignedNumber },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      await requireAccount(tx, { id: body.accountId });
      const { number } = await assignNumber(tx, { ...body, by: operatorNameOf(actor) });
      return { number, connection: body.connection, accountId: body.accountId };
    }),
  });

  app.delete(NUMBERS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteNumber',
      summary: 'Remove a number from its account',
      description: 'The messages to the number are kept.',
      querystring: schema.NumberQuery,
      response: { 204: Done },
    },
    handler: async ({ actor, query }, reply) => {
      await transaction(pool, (tx) => removeNumber(tx, { ...query, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

function templateRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/templates`, {
    onRequest: requireOperator(),
    schema: {
      tags,
      operationId: 'operatorListTemplates',
      summary: 'List the templates of all accounts, most recently changed first',
      querystring: TemplateQuery,
      response: { 200: PageOf(schema.TemplateOut) },
    },
    handler: async ({ query }) => {
      const { channel = null, status = null, search = null } = query;
      const filter = { channel, status, search };
      const rows = await db.listTemplatePage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(schema.toTemplate), await db.countTemplates(pool, filter));
    },
  });
}

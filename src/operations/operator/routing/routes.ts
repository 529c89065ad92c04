import { Type } from 'typebox';
import { addRoute, removeRoute } from '../../../network/routing/change.ts';
import { explainRoute } from '../../../network/routing/explain-route.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { channelName, knownFieldsOf } from '../../../platform/lib/schema.ts';
import { operatorNameOf } from '../author.ts';
import { connectionField, digitsOf, Done, IdParams, OPERATOR_PATH } from '../fields.ts';
import { operatorPolicyRoutes } from './policies/routes.ts';
import { toExplainedOut } from './explained-route.ts';
import { CheckQuery, ExplainOut, ExplainQuery, RouteIn, RouteOut } from './schema.ts';
import { countRoutes, findRoute, listRoutePage, listRoutesFor } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: routes'];
const ROUTES = `${OPERATOR_PATH}/routes`;

const RouteQuery = Type.Object({ ...pageFields, channel: Type.Optional(channelName()), connection: connectionField });

/** Registers the routes for the routing of numbers to connections. Running programs follow every change immediately. */
export function operatorRouteRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(ROUTES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListRoutes',
      summary: 'List all routes in the order in which they are checked',
      querystring: RouteQuery,
      response: { 200: PageOf(RouteOut) },
    },
    handler: async ({ query }) => {
      const filter = { channel: query.channel ?? null, connection: query.connection ?? null };
      const rows = await listRoutePage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows, await countRoutes(pool, filter));
    },
  });

  app.post(ROUTES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddRoute',
      summary: 'Add a route: a prefix of numbers and its connection',
      description:
        'With conditions it is used only for messages that meet all of them. Adding a route with the same prefix, ' +
        'connection and conditions again changes its priority, its weight and its policy for unknown outcomes.',
      body: withExamples(RouteIn, { channel: 'SMS', prefix: '423', connection: 'acme-smsc', priority: 50, weight: 30 }),
      response: { 201: RouteOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      const { priority = 100, onUnknown = 'hold', ...rest } = knownFieldsOf(RouteIn, body);
      return findRoute(tx, await addRoute(tx, { ...rest, priority, onUnknown, by: operatorNameOf(actor) }));
    }),
  });

  app.delete(`${ROUTES}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteRoute',
      summary: 'Delete a route',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removeRoute(tx, { id: params.id, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });

  app.get(`${ROUTES}/check`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorCheckRoute',
      summary: 'List the routes of a number on SMS in the order in which they are tried',
      description:
        'An empty list means that messages to the number are rejected. Conditions are shown but not checked: ' +
        '`explain` does.',
      querystring: CheckQuery,
      response: { 200: Type.Object({ data: Type.Array(RouteOut) }) },
    },
    handler: async ({ query }) => ({
      data: await listRoutesFor(pool, { channel: 'SMS', digits: digitsOf(query.number) }),
    }),
  });

  app.get(`${ROUTES}/explain`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorExplainRoute',
      summary: 'Show how a message on SMS would be routed, and why; nothing is sent',
      description:
        'Where routes share the traffic by weight, their order differs from message to message: the one shown is an ' +
        'example.',
      querystring: ExplainQuery,
      response: { 200: ExplainOut },
    },
    handler: async ({ query: { number, accountId = null, sender = null, network = null, at } }) => {
      const when = at === undefined ? null : new Date(at);
      const question = { destination: `+${digitsOf(number)}`, accountId, sender, network, at: when };
      const { prefix, policy, reason, routes } = await explainRoute(pool, question);
      return { prefix, policyId: policy?.id ?? null, reason, data: routes.map(toExplainedOut) };
    },
  });

  operatorPolicyRoutes(app, deps);
}

import { Type } from 'typebox';
import { addRoute, removeRoute } from '../../../network/routing/change.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { channelName } from '../../../platform/lib/schema.ts';
import { operatorNameOf } from '../author.ts';
import { connectionField, digitsOf, Done, IdParams, NumberField, OPERATOR_PATH, PrefixField } from '../fields.ts';
import { countRoutes, findRoute, listRoutePage, listRoutesFor } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: routes'];
const ROUTES = `${OPERATOR_PATH}/routes`;

const OnUnknown = Type.Enum(['hold', 'resubmit'], {
  type: 'string',
  description: 'What to do with a single send whose submit got no answer: wait for a receipt, or send it once more.',
});

const RouteOut = Type.Object({
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({ description: 'The longest prefix that matches a number decides. Empty: all numbers.' }),
  order: Type.Integer({
    description: 'The place among the routes of one prefix, from 1. Each is used when the routes before it fail.',
  }),
  connection: Type.String(),
  connectionUp: Type.Boolean(),
  priority: Type.Integer({ description: 'Lower numbers go first.' }),
  onUnknown: OnUnknown,
});

const RouteIn = Type.Object({
  channel: Type.Enum(['SMS'], {
    type: 'string',
    description: 'On RCS and WhatsApp the sender decides the connection.',
  }),
  prefix: PrefixField,
  connection: Type.String({ maxLength: 63, description: 'The name of a connection.' }),
  priority: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description: 'Default: 100.' })),
  onUnknown: Type.Optional(OnUnknown),
});

const RouteQuery = Type.Object({ ...pageFields, channel: Type.Optional(channelName()), connection: connectionField });
const CheckQuery = Type.Object({ number: NumberField });

/** The routes for the routing of numbers to connections. Running programs follow every change at once. */
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
      description: 'Adding an existing route again changes its priority and its policy for unknown outcomes.',
      body: withExamples(RouteIn, { channel: 'SMS', prefix: '423', connection: 'acme-smsc', priority: 50 }),
      response: { 201: RouteOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      const { priority = 100, onUnknown = 'hold', ...rest } = body;
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
      description: 'An empty list means that messages to the number are refused.',
      querystring: CheckQuery,
      response: { 200: Type.Object({ data: Type.Array(RouteOut) }) },
    },
    handler: async ({ query }) => ({
      data: await listRoutesFor(pool, { channel: 'SMS', digits: digitsOf(query.number) }),
    }),
  });
}

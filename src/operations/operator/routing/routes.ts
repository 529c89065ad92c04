import { Type } from 'typebox';
import { transaction } from '../../../platform/db/transaction.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { addRoute, removeRoute } from '../../../network/routing/change.ts';
import { operatorNameOf } from '../author.ts';
import { connectionField, IdParams, Done, OPERATOR_PATH } from '../fields.ts';
import { digitsOf, NumberField, PrefixField } from '../numbers.ts';
import { countRoutes, findRoute, listRoutePage, listRoutesFor } from './sql.ts';
import { channelName } from '../../../platform/lib/schema.ts';

const tags = ['Operator: routes'];
const ROUTES = `${OPERATOR_PATH}/routes`;

const OnUnknown = Type.Enum(['hold', 'resubmit'], {
  type: 'string',
  description: 'Of single sends without an answer: keep them for a receipt, or send them once more.',
});

const RouteOut = Type.Object({
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({ description: 'The longest that a number begins with decides. Empty: all.' }),
  order: Type.Integer({
    description: 'Among the routes of one prefix, from 1: the others are for when that one fails.',
  }),
  connection: Type.String(),
  connectionUp: Type.Boolean(),
  priority: Type.Integer({ description: 'Lower goes first.' }),
  onUnknown: OnUnknown,
});

const RouteIn = Type.Object({
  channel: Type.Enum(['SMS'], { type: 'string', description: 'On RCS and WhatsApp the sender decides.' }),
  prefix: PrefixField,
  connection: Type.String({ maxLength: 63, description: 'Name of a connection.' }),
  priority: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description: 'Default: 100.' })),
  onUnknown: Type.Optional(OnUnknown),
});

const RouteQuery = Type.Object({ ...pageFields, channel: Type.Optional(channelName()), connection: connectionField });
const CheckQuery = Type.Object({ number: NumberField });

/** Which connection takes which numbers. Running programs follow every change at once. */
export function operatorRouteRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(ROUTES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListRoutes',
      summary: 'All routes, in the order in which they are looked at',
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
      summary: 'Send the numbers with a prefix over a connection',
      description: 'Adding one again changes its priority and what becomes of unknown outcomes.',
      body: RouteIn,
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
      summary: 'Take a route away',
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
      summary: 'Which routes a number takes on SMS, the first one first',
      description: 'Empty: messages to it are refused.',
      querystring: CheckQuery,
      response: { 200: Type.Object({ data: Type.Array(RouteOut) }) },
    },
    handler: async ({ query }) => ({
      data: await listRoutesFor(pool, { channel: 'SMS', digits: digitsOf(query.number) }),
    }),
  });
}

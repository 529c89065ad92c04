import { type Static, Type } from 'typebox';
import {
  amount,
  connectionField,
  digitsOf,
  Done,
  IdParams,
  NumberField,
  OPERATOR_PATH,
  operatorNameOf,
  PrefixField,
} from '../accounts/operator-fields.ts';
import type { Channel } from '../core/channels.ts';
import { as, columns, type Db, many, one, pageRows, type Paging, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal } from '../core/http/idempotency.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, id, instant, knownFieldsOf, orNull, purposeSchema } from '../core/schema.ts';
import { listPolicies, type Policy, removePolicy, setPolicy } from './policies.ts';
import { explainRoute, type MeasuredRoute } from './router.ts';
import { addRoute, ALL_ROUTES, RANK, removeRoute, type Route } from './routes.ts';
import { deliveredShare, receiptSeconds } from './standings.ts';

const OnUnknown = Type.Enum(['hold', 'resubmit'], {
  type: 'string',
  description: 'Action for a single send whose submit got no response: wait for a receipt, or send it once more.',
});

const Time = (description: string) =>
  Type.String({ pattern: String.raw`^\d\d:\d\d$`, description, 'x-message': 'must be HH:MM' });

const Hours = Type.Object(
  {
    from: Time('The first minute, such as 08:00.'),
    to: Time('The minute after the last one, up to 24:00. Before `from`: the hours end on the next day.'),
    timeZone: Type.String({ maxLength: 64, description: 'A time zone of the IANA database, such as Europe/Rome.' }),
    weekdays: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
      minItems: 1,
      maxItems: 7,
      description: 'The days on which the hours begin, in order: 1 is Monday, 7 Sunday.',
    }),
  },
  { description: 'Time at which the message is sent, in a time zone.' },
);

const NetworkField = Type.String({
  pattern: String.raw`^\d{5,6}$`,
  description: 'MCC and MNC of the network of the number, such as 22201.',
  'x-message': 'must be MCC and MNC: 5 or 6 digits, such as 22201',
});
const SenderField = Type.String({
  minLength: 1,
  maxLength: 20,
  description: 'The sender of the message, in any case.',
});
const Weight = Type.Integer({
  minimum: 1,
  maximum: 1000,
  description:
    'Its part of the traffic of the routes with the same prefix and priority that have a weight. These go before those ' +
    'without one.',
});

const conditions = {
  weight: orNull(Weight),
  network: orNull(NetworkField),
  accountId: orNull(id('The account that sends.')),
  sender: orNull(SenderField),
  hours: orNull(Hours),
  purpose: orNull(purposeSchema('The purpose of the message.')),
};

const facts = {
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({
    description:
      'The longest prefix that matches a number, with a route whose conditions are met, decides. Empty: all numbers.',
  }),
  connection: Type.String(),
  priority: Type.Integer({ description: 'Lower numbers go first.' }),
  onUnknown: OnUnknown,
  ...conditions,
};

const RouteOut = Type.Object({
  ...facts,
  order: Type.Integer({
    description: 'The place among the routes of one prefix, from 1. Each is used when the routes before it fail.',
  }),
  connectionUp: Type.Boolean(),
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
  ...Type.Partial(Type.Object(conditions)).properties,
});

const CheckQuery = Type.Object({ number: NumberField });

const ExplainQuery = Type.Object({
  number: NumberField,
  accountId: Type.Optional(id('The account that sends.')),
  sender: Type.Optional(SenderField),
  network: Type.Optional(NetworkField),
  purpose: Type.Optional(purposeSchema('The purpose of the message.')),
  at: Type.Optional(instant('Time of sending; default: now.')),
});

const ExplainOut = Type.Object({
  prefix: orNull(Type.String({ description: 'The prefix that decides; null: the message would be rejected.' })),
  policyId: orNull(Type.Integer({ description: 'The policy that orders the routes; null: they go by priority.' })),
  reason: orNull(Type.String({ description: 'Explanation in words why the first route is used.' })),
  data: Type.Array(
    Type.Object({
      ...facts,
      place: orNull(Type.Integer({ description: 'The place in which it is tried, from 1; null: it is not used.' })),
      obstacles: Type.Array(
        Type.Enum(['network', 'account', 'sender', 'hours', 'purpose', 'registration', 'prefix', 'sandbox'], {
          type: 'string',
        }),
        {
          description:
            'Reason why it is not used: a condition that is not met; `registration`: the rule for senders of the country ' +
            'lets the sender pass only where it is registered, and for this connection it is not; `prefix`: another prefix decides; `sandbox`: ' +
            'it leads to the sandbox and the best route to a real carrier, or the other way round.',
        },
      ),
      cost: orNull(amount('Charge of the carrier for a part; null: no cost is set.')),
      standing: orNull(
        Type.Enum(['good', 'trial', 'below'], {
          type: 'string',
          description:
            'By the policy: at the floor of quality or above; too few samples; below. Null: no policy orders it.',
        }),
      ),
      samples: Type.Integer({
        description: 'Recent sample of messages over this connection to this country.',
      }),
      delivered: orNull(Type.Number({ description: 'The share of them that was delivered within five minutes.' })),
      receiptSeconds: orNull(Type.Number({ description: 'Average time until their receipts.' })),
    }),
    { description: 'The routes that begin like the number: first those that are used, in their order.' },
  ),
});

const tags = ['Operator: routes'];
const ROUTES = `${OPERATOR_PATH}/routes`;

const RouteQuery = Type.Object({ ...pageFields, channel: Type.Optional(channelName()), connection: connectionField });

/** Registers the routes for the routing of numbers to connections. Running programs follow every change immediately. */
export function operatorRouteRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(ROUTES, {
    onRequest,
    config: { command: 'route list' },
    schema: {
      tags,
      operationId: 'operatorListRoutes',
      summary: 'List all routes in the order in which they are checked',
      querystring: RouteQuery,
      response: { 200: PageOf(RouteOut) },
    },
    handler: ({ query }) => answerPage(query, listRoutePage(pool, query), (row) => row),
  });

  app.post(ROUTES, {
    onRequest,
    config: { command: 'route add' },
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
    config: { command: 'route remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteRoute',
      summary: 'Delete a route',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeRoute(tx, { id: params.id, by: operatorNameOf(actor) })),
  });

  app.get(`${ROUTES}/check`, {
    onRequest,
    config: { command: 'route check <number>' },
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
    config: {
      command: {
        as: 'route explain <number>',
        isFine: ({ prefix }: { readonly prefix: string | null }) => prefix !== null,
      },
    },
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
    handler: async ({ query: { number, accountId = null, sender = null, network = null, purpose = null, at } }) => {
      const when = at === undefined ? null : new Date(at);
      const question = { destination: `+${digitsOf(number)}`, accountId, sender, network, purpose, at: when };
      const { prefix, policy, reason, routes } = await explainRoute(pool, question);
      return { prefix, policyId: policy?.id ?? null, reason, data: routes.map(toExplainedOut) };
    },
  });

  operatorPolicyRoutes(app, deps);
}

/** Makes the entry of an explained route in a response. */
const toExplainedOut = ({ costMicros, quality, ...route }: MeasuredRoute) => ({
  ...route,
  obstacles: [...route.obstacles],
  cost: costMicros === null ? null : fromMicros(costMicros),
  samples: quality?.messages ?? 0,
  delivered: quality && deliveredShare(quality),
  receiptSeconds: quality && receiptSeconds(quality),
});

const ROUTE = columns({
  id: as<number>('r.id'),
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connection: as<string>('c.name'),
  priority: as<number>('r.priority'),
  onUnknown: as<Route['onUnknown']>('r.on_unknown'),
  weight: as<number | null>('r.weight'),
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Route['hours']>('r.hours'),
  purpose: as<Route['purpose']>('r.purpose'),
  /** The place among the routes of the same prefix, from 1. */
  order: as<number>(sql`row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY ${RANK})::int`),
  /** True if a worker has the connection up. */
  connectionUp: as<boolean>(`c.status = 'active' AND EXISTS (
           SELECT FROM connection_status s
           WHERE s.connection_id = c.id AND s.up AND s.updated_at > now() - interval '1 minute')`),
});
type RouteRow = RowOf<typeof ROUTE>;

/** All routes, as a table `r` with the columns of a `RouteRow`. */
const ROUTE_ROWS = sql`(
  SELECT ${ROUTE}
  FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id) AS r`;
/** The route that decides comes first within its channel. */
const IN_ORDER = sql`r.channel, length(r.prefix) DESC, r.prefix, r."order"`;

type RouteFilter = Paging & { readonly channel?: Channel | null; readonly connection?: string | null };

const listRoutePage = (db: Db, { channel = null, connection = null, ...page }: RouteFilter) =>
  pageRows<RouteRow>(
    db,
    {
      columns: sql`r.*`,
      from: sql`FROM ${ROUTE_ROWS} WHERE (${channel}::text IS NULL OR r.channel = ${channel})
        AND (${connection}::text IS NULL OR r.connection = ${connection})`,
      order: IN_ORDER,
    },
    page,
  );

async function findRoute(db: Db, { id }: { id: number }): Promise<RouteRow> {
  return one(db, sql`SELECT r.* FROM ${ROUTE_ROWS} WHERE r.id = ${id}`);
}

/**
 * Lists the routes of the longest prefix with which a number begins, in the order in which they are tried. `digits` is the
 * number without the plus sign.
 */
async function listRoutesFor(db: Db, { channel, digits }: { channel: Channel; digits: string }): Promise<RouteRow[]> {
  return many(
    db,
    sql`SELECT r.* FROM ${ROUTE_ROWS}
        WHERE r.channel = ${channel} AND r.prefix = (
          SELECT prefix FROM ${ALL_ROUTES} AS a WHERE channel = ${channel} AND starts_with(${digits}, prefix)
          ORDER BY length(prefix) DESC LIMIT 1) ORDER BY ${IN_ORDER}`,
  );
}

const POLICIES = `${OPERATOR_PATH}/route-policies`;

const PolicyName = Type.Enum(['priority', 'least-cost'], {
  type: 'string',
  description:
    '`priority`: the order of the routes. `least-cost`: the cheapest of those at or above the floor of quality.',
});

const Floor = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'Minimum share of messages that must be delivered within five minutes. Default: 0.8.',
});
const MaxReceiptSeconds = Type.Integer({
  minimum: 1,
  maximum: 300,
  description: 'Maximum average seconds until a receipt; null: any.',
});
const MinSamples = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Minimum of samples in a country; with fewer, a connection is on trial. Default: 50.',
});
const Explore = Type.Number({
  minimum: 0,
  maximum: 0.5,
  description: 'The share of messages for connections on trial or below the floor. Default: 0.05.',
});
const PolicyHours = Type.Integer({
  minimum: 1,
  maximum: 48,
  description: 'Age up to which samples count, in hours. Default: 3.',
});

const PolicyOut = Type.Object({
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({ description: 'The longest prefix that matches a number decides. Empty: all numbers.' }),
  policy: PolicyName,
  floor: Floor,
  maxReceiptSeconds: orNull(MaxReceiptSeconds),
  minSamples: MinSamples,
  explore: Explore,
  hours: PolicyHours,
});

const PolicyIn = Type.Object({
  channel: Type.Enum(['SMS'], { type: 'string', description: 'Only SMS is routed by prefix.' }),
  prefix: PrefixField,
  policy: PolicyName,
  floor: Type.Optional(Floor),
  maxReceiptSeconds: Type.Optional(orNull(MaxReceiptSeconds)),
  minSamples: Type.Optional(MinSamples),
  explore: Type.Optional(Explore),
  hours: Type.Optional(PolicyHours),
});

/** Registers the routes for the order of a prefix's routes. Running programs follow every change immediately. */
function operatorPolicyRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(POLICIES, {
    onRequest,
    config: { command: 'route policy list' },
    schema: {
      tags,
      operationId: 'operatorListRoutePolicies',
      summary: 'List route-order policies',
      description: 'Without a policy, routes are ordered by their priority.',
      response: { 200: Type.Object({ data: Type.Array(PolicyOut) }) },
    },
    handler: async () => ({ data: (await listPolicies(pool)).map(toPolicyOut) }),
  });

  app.post(POLICIES, {
    onRequest,
    config: { command: 'route policy set' },
    schema: {
      tags,
      operationId: 'operatorSetRoutePolicy',
      summary: 'Set the route-order policy of a prefix',
      description: 'Replaces the policy of the same prefix.',
      body: withExamples(PolicyIn, { channel: 'SMS', prefix: '423', policy: 'least-cost', floor: 0.9 }),
      response: { 201: PolicyOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) =>
      toPolicyOut(await setPolicy(tx, { ...body, by: operatorNameOf(actor) })),
    ),
  });

  app.delete(`${POLICIES}/:id`, {
    onRequest,
    config: { command: 'route policy remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteRoutePolicy',
      summary: 'Delete the policy of a prefix',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removePolicy(tx, { id: params.id, by: operatorNameOf(actor) })),
  });
}

const toPolicyOut = ({ minDelivered, explore, ...policy }: Policy): Static<typeof PolicyOut> => ({
  ...policy,
  floor: minDelivered / 1000,
  explore: explore / 1000,
});

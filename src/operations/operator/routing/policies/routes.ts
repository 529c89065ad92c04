import { type Static, Type } from 'typebox';
import { removePolicy, setPolicy } from '../../../../network/routing/policies/change.ts';
import { listPolicies, type Policy } from '../../../../network/routing/policies/sql.ts';
import { transaction } from '../../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../../platform/http/app.ts';
import { requireOperator } from '../../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../../platform/http/idempotency.ts';
import { withExamples } from '../../../../platform/http/schema.ts';
import { channelName, orNull } from '../../../../platform/lib/schema.ts';
import { operatorNameOf } from '../../author.ts';
import { Done, IdParams, OPERATOR_PATH, PrefixField } from '../../fields.ts';

const tags = ['Operator: routes'];
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
const Hours = Type.Integer({
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
  hours: Hours,
});

const PolicyIn = Type.Object({
  channel: Type.Enum(['SMS'], { type: 'string', description: 'Only SMS is routed by prefix.' }),
  prefix: PrefixField,
  policy: PolicyName,
  floor: Type.Optional(Floor),
  maxReceiptSeconds: Type.Optional(orNull(MaxReceiptSeconds)),
  minSamples: Type.Optional(MinSamples),
  explore: Type.Optional(Explore),
  hours: Type.Optional(Hours),
});

/** Registers the routes for the order of a prefix's routes. Running programs follow every change immediately. */
export function operatorPolicyRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(POLICIES, {
    onRequest,
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
    schema: {
      tags,
      operationId: 'operatorDeleteRoutePolicy',
      summary: 'Delete the policy of a prefix',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removePolicy(tx, { id: params.id, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

const toPolicyOut = ({ minDelivered, explore, ...policy }: Policy): Static<typeof PolicyOut> => ({
  ...policy,
  floor: minDelivered / 1000,
  explore: explore / 1000,
});

import { Type } from 'typebox';
import * as change from '../../../network/sender-rules/change.ts';
import * as db from '../../../network/sender-rules/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { requireAccount } from '../accounts/find.ts';
import { operatorNameOf } from '../author.ts';
import { Done, IdParams, OPERATOR_PATH } from '../fields.ts';
import * as schema from './schema.ts';

const tags = ['Operator: senders'];
const RULES = `${OPERATOR_PATH}/sender-rules`;
const REGISTERED = `${OPERATOR_PATH}/registered-senders`;
const POOLS = `${OPERATOR_PATH}/number-pools`;

const listOf = <T extends Type.TSchema>(item: T) => ({ 200: Type.Object({ data: Type.Array(item) }) });

/**
 * Registers the routes for the SMS senders allowed in a country, and for pools of numbers. Running programs follow
 * immediately.
 */
export function operatorSenderRuleRoutes(app: App, deps: PlatformDeps): void {
  ruleRoutes(app, deps);
  registeredRoutes(app, deps);
  poolRoutes(app, deps);
}

function ruleRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(RULES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListSenderRules',
      summary: 'List the rules for senders by country',
      description: 'The longest prefix of a number decides. Without a rule every sender is allowed.',
      response: listOf(schema.RuleOut),
    },
    handler: async () => ({ data: await db.listRules(pool) }),
  });

  app.put(RULES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorSetSenderRule',
      summary: 'Set the rule for the numbers with a prefix',
      body: withExamples(schema.RuleIn, { prefix: '1', alphanumeric: 'replaced', replacement: 'pool:us' }),
      response: { 200: schema.RuleOut },
    },
    handler: ({ actor, body: { replacement = null, registeredOnly = false, ...rest } }) => {
      const rule = { ...rest, replacement, registeredOnly, by: operatorNameOf(actor) };
      return transaction(pool, (tx) => change.setSenderRule(tx, rule));
    },
  });

  app.delete(`${RULES}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteSenderRule',
      summary: 'Delete a rule',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => change.removeSenderRule(tx, { ...params, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

function registeredRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(REGISTERED, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListRegisteredSenders',
      summary: 'List the senders that were registered in a country',
      response: listOf(schema.RegisteredOut),
    },
    handler: async () => ({ data: (await db.listRegistered(pool)).map(schema.toRegistered) }),
  });

  app.post(REGISTERED, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddRegisteredSender',
      summary: 'Record that a sender is registered for the numbers with a prefix',
      description: 'It passes there, regardless of the rule. Registering it again changes nothing.',
      body: withExamples(schema.RegisteredIn, { prefix: '65', sender: 'ACME', accountId: 1 }),
      response: { 201: schema.RegisteredOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { accountId = null, ...entry } }, tx) => {
      const ownerId = await checkedOwner(tx, accountId);
      return schema.toRegistered(await change.addRegistered(tx, { ...entry, ownerId, by: operatorNameOf(actor) }));
    }),
  });

  app.delete(`${REGISTERED}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteRegisteredSender',
      summary: 'Delete a sender from the list of registered ones',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => change.removeRegistered(tx, { ...params, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

function poolRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(POOLS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListNumberPools',
      summary: 'List the pools of numbers',
      response: listOf(schema.PoolOut),
    },
    handler: async () => ({ data: (await db.listPools(pool)).map(schema.toPool) }),
  });

  app.post(POOLS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddNumberPool',
      summary: 'Make a pool of numbers',
      description: 'Each recipient gets messages from one of its numbers, always the same one.',
      body: withExamples(schema.PoolIn, { name: 'us', numbers: ['+12025550143', '+12025550144'] }),
      response: { 201: schema.PoolOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { accountId = null, ...rest } }, tx) => {
      const ownerId = await checkedOwner(tx, accountId);
      const { id } = await change.addPool(tx, { ...rest, ownerId, by: operatorNameOf(actor) });
      return schema.toPool(await existingPool(tx, id));
    }),
  });

  app.delete(`${POOLS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteNumberPool',
      summary: 'Delete a pool: messages from it are rejected',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => change.removePool(tx, { ...params, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });

  app.post(`${POOLS}/:id/numbers`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddPoolNumber',
      summary: 'Add a number to a pool',
      description: 'Recipients who were written to from another number of the pool keep it.',
      params: IdParams,
      body: withExamples(schema.PoolNumberIn, { number: '+12025550145' }),
      response: { 201: schema.PoolNumberOut },
    },
    handler: idempotentGlobal(deps, 201, ({ actor, params, body }, tx) =>
      change.addPoolNumber(tx, { ...body, ...params, by: operatorNameOf(actor) }),
    ),
  });

  app.delete(`${POOLS}/:id/numbers`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeletePoolNumber',
      summary: 'Remove a number from a pool: its recipients get another one',
      params: IdParams,
      querystring: schema.PoolNumberIn,
      response: { 204: Done },
    },
    handler: async ({ actor, params, query }, reply) => {
      const number = query.number.replace(/^ /, '+');
      await transaction(pool, (tx) => change.removePoolNumber(tx, { ...params, number, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

async function checkedOwner(tx: Db, accountId: number | null): Promise<number | null> {
  if (accountId !== null) await requireAccount(tx, { id: accountId });
  return accountId;
}

async function existingPool(tx: Db, id: number): Promise<db.NumberPool> {
  const found = await db.lockPool(tx, { id });
  if (!found) throw new AppError('not_found', { message: 'There is no such pool' });
  return found;
}

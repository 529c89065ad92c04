import { Type } from 'typebox';
import {
  accountIdField,
  connectionField,
  Done,
  IdParams,
  isoOrNull,
  OPERATOR_PATH,
  operatorNameOf,
  PrefixField,
} from '../accounts/operator-fields.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal } from '../core/http/idempotency.ts';
import { orNull } from '../core/schema.ts';
import { connectionNamed } from '../routing/connection-store.ts';
import {
  listRegistered,
  REGISTRATION_STATUSES,
  type RegisteredSender,
  removeRegistered,
  setRegistered,
} from '../routing/registered-senders.ts';
import { OBLIGATION_EFFECTS, OBLIGATIONS_READ_ON, SENDER_OBLIGATIONS } from '../routing/sender-obligations.ts';
import * as db from '../routing/sender-rule-store.ts';
import { ALPHANUMERIC_POLICIES, type NumberPool } from '../routing/sender-rule-store.ts';
import * as change from '../routing/sender-rules.ts';
import { requireAccount } from './accounts.ts';

const Prefix = Type.String({ description: 'Leading digits without the plus sign. Empty: all numbers.' });

const Policy = Type.Enum([...ALPHANUMERIC_POLICIES], {
  type: 'string',
  description: 'Treatment of senders with letters that are not registered for the numbers.',
});

const characters = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Characters that unregistered senders with letters may have, with ranges: `A-Za-z0-9`. Null: any.',
});
const lengthLimit = Type.Integer({ minimum: 1, maximum: 11, description: 'Limit of their length; null: none.' });
const forbiddenWords = Type.Array(Type.String({ minLength: 1, maxLength: 11 }), {
  maxItems: 500,
  description: 'Words that they may not contain, in any case.',
});

const RuleOut = Type.Object({
  id: Type.Integer(),
  prefix: Prefix,
  alphanumeric: Policy,
  replacement: orNull(
    Type.String({
      description: 'A sender or `pool:NAME`, instead of those that do not pass. Null: they are rejected.',
    }),
  ),
  registeredOnly: Type.Boolean({ description: 'True if numbers, too, pass only if they are registered.' }),
  characters: orNull(characters),
  minLength: orNull(lengthLimit),
  maxLength: orNull(lengthLimit),
  forbiddenWords,
});

const RuleIn = Type.Object({
  prefix: PrefixField,
  alphanumeric: Policy,
  replacement: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 25 }))),
  registeredOnly: Type.Optional(Type.Boolean({ description: 'Default: false.' })),
  characters: Type.Optional(orNull(characters)),
  minLength: Type.Optional(orNull(lengthLimit)),
  maxLength: Type.Optional(orNull(lengthLimit)),
  forbiddenWords: Type.Optional(forbiddenWords),
});

const Owner = orNull(accountIdField);

const readOn = Type.String({ format: 'date', description: 'Day on which the sources were read.' });
const ObligationOut = Type.Object({
  country: Type.String({ description: 'ISO 3166-1 alpha-2.' }),
  prefix: Type.String({ description: 'Calling code without the plus sign.' }),
  from: orNull(Type.String({ format: 'date', description: 'First day; null: brought in step by step.' })),
  effect: Type.Enum([...OBLIGATION_EFFECTS], {
    type: 'string',
    description: 'Treatment of messages from other senders by the networks of the country.',
  }),
  kind: Type.Enum(['registry', 'form'], {
    type: 'string',
    description: '`registry`: senders must be registered; `form`: they must have a certain form.',
  }),
  bindsProvider: Type.Boolean({ description: 'True if a registration holds only for the providers that it names.' }),
  source: Type.String({ description: 'URL of the source.' }),
  hasRule: Type.Boolean({ description: 'True if a rule for senders names the country.' }),
});

const Status = Type.Enum([...REGISTRATION_STATUSES], {
  type: 'string',
  description: 'State at the provider. Only an ACTIVE registration lets messages pass.',
});
const reference = Type.String({ minLength: 1, maxLength: 100, description: "The provider's reference." });
const validFrom = Type.String({ format: 'date-time', description: 'Time from which it holds.' });
const validTo = Type.String({ format: 'date-time', description: 'Time at which it ends.' });
const brandId = Type.String({ minLength: 1, maxLength: 50, description: 'Brand id of The Campaign Registry (10DLC).' });
const campaignId = Type.String({ minLength: 1, maxLength: 50, description: 'Campaign id of The Campaign Registry.' });
const tps = Type.Number({
  exclusiveMinimum: 0,
  maximum: 10_000,
  description: 'Parts per second from this sender over each of its connections; null: no limit.',
});

const dailyCap = Type.Integer({
  minimum: 1,
  maximum: 1_000_000_000,
  description: 'Parts per day (UTC) from this sender over all of its connections; null: no limit.',
});

const RegisteredOut = Type.Object({
  id: Type.Integer(),
  prefix: Prefix,
  sender: Type.String(),
  accountId: orNull(Type.Integer({ description: 'The account that may use it; null: all accounts.' })),
  account: orNull(Type.String()),
  connection: orNull(Type.String({ description: 'The connection over which it may be used; null: all connections.' })),
  status: Status,
  reference: orNull(reference),
  validFrom: orNull(validFrom),
  validTo: orNull(validTo),
  brandId: orNull(brandId),
  campaignId: orNull(campaignId),
  tps: orNull(tps),
  dailyCap: orNull(dailyCap),
});
const RegisteredIn = Type.Object({
  prefix: PrefixField,
  sender: Type.String({ minLength: 1, maxLength: 17 }),
  accountId: Type.Optional(Owner),
  connection: connectionField,
  status: Type.Optional(Status),
  reference: Type.Optional(orNull(reference)),
  validFrom: Type.Optional(orNull(validFrom)),
  validTo: Type.Optional(orNull(validTo)),
  brandId: Type.Optional(orNull(brandId)),
  campaignId: Type.Optional(orNull(campaignId)),
  tps: Type.Optional(orNull(tps)),
  dailyCap: Type.Optional(orNull(dailyCap)),
});

const PoolOut = Type.Object({
  id: Type.Integer(),
  name: Type.String({ description: 'Messages are sent from it as `pool:NAME`.' }),
  accountId: orNull(Type.Integer({ description: 'The account whose pool it is; null: all accounts.' })),
  account: orNull(Type.String()),
  numbers: Type.Array(Type.String()),
});
const PoolIn = Type.Object({
  name: Type.String({
    pattern: '^[a-z0-9-]{1,20}$',
    'x-message': 'must have 1 to 20 lower-case letters, digits or hyphens',
  }),
  accountId: Type.Optional(Owner),
  numbers: Type.Array(Type.String({ maxLength: 17 }), { minItems: 1, maxItems: 1000 }),
});
const PoolNumberIn = Type.Object({ number: Type.String({ maxLength: 17 }) });
const PoolNumberOut = Type.Object({
  kept: Type.Integer({
    description: 'Number of recipients who keep another number, because they were written to from it.',
  }),
});

const toRule = (rule: db.SenderRule) => ({ ...rule, forbiddenWords: [...rule.forbiddenWords] });
const toRegistered = ({
  ownerId,
  connectionId: _connectionId,
  validFrom: from,
  validTo: to,
  ...rest
}: RegisteredSender) => ({
  ...rest,
  accountId: ownerId,
  validFrom: isoOrNull(from),
  validTo: isoOrNull(to),
});
const toPool = ({ id, name, ownerId: accountId, account, numbers }: NumberPool) => ({
  id,
  name,
  accountId,
  account,
  numbers,
});

const tags = ['Operator: senders'];
const RULES = `${OPERATOR_PATH}/sender-rules`;
const REGISTERED = `${OPERATOR_PATH}/registered-senders`;
const OBLIGATIONS = `${OPERATOR_PATH}/sender-obligations`;
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
    config: { command: 'sender-rule list' },
    schema: {
      tags,
      operationId: 'operatorListSenderRules',
      summary: 'List the rules for senders by country',
      description: 'The longest prefix of a number decides. Without a rule every sender is allowed.',
      response: listOf(RuleOut),
    },
    handler: async () => ({
      data: (await db.listRules(pool)).map(toRule),
    }),
  });

  app.get(OBLIGATIONS, {
    onRequest,
    config: { command: 'sender-rule obligations' },
    schema: {
      tags,
      operationId: 'operatorListSenderObligations',
      summary: 'List the countries where senders must be registered or have a certain form',
      response: { 200: Type.Object({ readOn, data: Type.Array(ObligationOut) }) },
    },
    handler: async () => {
      const rules = await db.listRules(pool);
      return {
        readOn: OBLIGATIONS_READ_ON,
        data: SENDER_OBLIGATIONS.map((each) => ({
          ...each,
          hasRule: rules.some(({ prefix }) => prefix !== '' && prefix.startsWith(each.prefix)),
        })),
      };
    },
  });

  app.put(RULES, {
    onRequest,
    config: { command: 'sender-rule set' },
    schema: {
      tags,
      operationId: 'operatorSetSenderRule',
      summary: 'Set the rule for the numbers with a prefix',
      body: withExamples(RuleIn, { prefix: '1', alphanumeric: 'replaced', replacement: 'pool:us' }),
      response: { 200: RuleOut },
    },
    handler: ({ actor, body }) => {
      const rule = {
        ...db.ANY_FORM,
        replacement: null,
        registeredOnly: false,
        ...body,
        by: operatorNameOf(actor),
      };
      return transaction(pool, async (tx) => toRule(await change.setSenderRule(tx, rule)));
    },
  });

  app.delete(`${RULES}/:id`, {
    onRequest,
    config: { command: 'sender-rule remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteSenderRule',
      summary: 'Delete a rule',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => change.removeSenderRule(tx, { ...params, by: operatorNameOf(actor) })),
  });
}

function registeredRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(REGISTERED, {
    onRequest,
    config: { command: 'registered-sender list' },
    schema: {
      tags,
      operationId: 'operatorListRegisteredSenders',
      summary: 'List the senders that were registered in a country',
      response: listOf(RegisteredOut),
    },
    handler: async () => ({ data: (await listRegistered(pool)).map(toRegistered) }),
  });

  app.post(REGISTERED, {
    onRequest,
    config: { command: 'registered-sender add' },
    schema: {
      tags,
      operationId: 'operatorAddRegisteredSender',
      summary: 'Record that a sender is registered for the numbers with a prefix',
      description:
        'It passes there, regardless of the rule, over its connection. Registering it again changes its data.',
      body: withExamples(RegisteredIn, {
        prefix: '34',
        sender: 'ACME',
        accountId: 1,
        reference: 'ES-2026-0815',
        validTo: '2027-09-15T00:00:00Z',
      }),
      response: { 201: RegisteredOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body }, tx) => {
      const { accountId = null, connection, validFrom: from, validTo: to } = body;
      const entry = {
        prefix: body.prefix,
        sender: body.sender,
        ownerId: await checkedOwner(tx, accountId),
        connectionId: connection === undefined ? null : (await connectionNamed(tx, connection)).id,
        status: body.status ?? 'ACTIVE',
        reference: body.reference ?? null,
        validFrom: from ? new Date(from) : null,
        validTo: to ? new Date(to) : null,
        brandId: body.brandId ?? null,
        campaignId: body.campaignId ?? null,
        tps: body.tps ?? null,
        dailyCap: body.dailyCap ?? null,
      };
      return toRegistered(await setRegistered(tx, { ...entry, by: operatorNameOf(actor) }));
    }),
  });

  app.delete(`${REGISTERED}/:id`, {
    onRequest,
    config: { command: 'registered-sender remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteRegisteredSender',
      summary: 'Delete a sender from the list of registered ones',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeRegistered(tx, { ...params, by: operatorNameOf(actor) })),
  });
}

function poolRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(POOLS, {
    onRequest,
    config: { command: 'number-pool list' },
    schema: {
      tags,
      operationId: 'operatorListNumberPools',
      summary: 'List the pools of numbers',
      response: listOf(PoolOut),
    },
    handler: async () => ({ data: (await db.listPools(pool)).map(toPool) }),
  });

  app.post(POOLS, {
    onRequest,
    config: { command: 'number-pool add <name> <numbers>' },
    schema: {
      tags,
      operationId: 'operatorAddNumberPool',
      summary: 'Make a pool of numbers',
      description: 'Each recipient gets messages from one of its numbers, always the same one.',
      body: withExamples(PoolIn, { name: 'us', numbers: ['+12025550143', '+12025550144'] }),
      response: { 201: PoolOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { accountId = null, ...rest } }, tx) => {
      const ownerId = await checkedOwner(tx, accountId);
      const { id } = await change.addPool(tx, { ...rest, ownerId, by: operatorNameOf(actor) });
      return toPool(await existingPool(tx, id));
    }),
  });

  app.delete(`${POOLS}/:id`, {
    onRequest,
    config: { command: 'number-pool remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteNumberPool',
      summary: 'Delete a pool: messages from it are rejected',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => change.removePool(tx, { ...params, by: operatorNameOf(actor) })),
  });

  app.post(`${POOLS}/:id/numbers`, {
    onRequest,
    config: { command: 'number-pool add-number <number>' },
    schema: {
      tags,
      operationId: 'operatorAddPoolNumber',
      summary: 'Add a number to a pool',
      description: 'Recipients who were written to from another number of the pool keep it.',
      params: IdParams,
      body: withExamples(PoolNumberIn, { number: '+12025550145' }),
      response: { 201: PoolNumberOut },
    },
    handler: idempotentGlobal(deps, 201, ({ actor, params, body }, tx) =>
      change.addPoolNumber(tx, { ...body, ...params, by: operatorNameOf(actor) }),
    ),
  });

  app.delete(`${POOLS}/:id/numbers`, {
    onRequest,
    config: { command: 'number-pool remove-number <number>' },
    schema: {
      tags,
      operationId: 'operatorDeletePoolNumber',
      summary: 'Remove a number from a pool: its recipients get another one',
      params: IdParams,
      querystring: PoolNumberIn,
      response: { 204: Done },
    },
    handler: async ({ actor, params, query }) => {
      const number = query.number.replace(/^ /, '+');
      await transaction(pool, (tx) => change.removePoolNumber(tx, { ...params, number, by: operatorNameOf(actor) }));
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

import { type Command, InvalidArgumentError } from 'commander';
import { type Static, Type } from 'typebox';
import { SCOPES, type Scope } from '../core/actor.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, PageOf, type PlatformDeps, pageFields, pageOf, removalTx, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { id, instant, orNull } from '../core/schema.ts';
import { findAccount } from './accounts.ts';
import {
  countKeys,
  createKey,
  findAccountOfKey,
  findKeyByHash,
  hashOfKey,
  type IssuedKey,
  type KeyRow,
  listKeys,
  revokeKey,
  rotateKey,
} from './api-keys.ts';
import { operatorAuthor } from './audit.ts';

const MAX_GRACE_SECONDS = 7 * 24 * 3600;

const text = (maxLength: number, description: string) => Type.String({ maxLength, description });

const Operation = Type.Enum([...SCOPES], {
  type: 'string',
  description: 'A channel to send on, or an area of the API to use.',
});

const KeyIn = Type.Object({
  name: Type.Optional(text(200, 'A name to tell keys apart.')),
  description: Type.Optional(text(1000, 'A description for people.')),
  operations: Type.Optional(
    Type.Array(Operation, {
      minItems: 1,
      maxItems: 100,
      description: 'All scopes of the caller by default. Scopes that the caller lacks are rejected with 403.',
    }),
  ),
  expiresAt: Type.Optional(
    orNull(instant('ISO 8601 with an offset, in the future. By default the key never expires.')),
  ),
});

/** The body may be missing. */
const RotateIn = Type.Union([
  Type.Object({
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        description:
          'Time for which the previous value keeps working; by default it stops immediately. Values of earlier ' +
          'rotations keep their own grace period.',
      }),
    ),
  }),
  Type.Null(),
]);

export const KeyIssued = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  apiKey: Type.String({ description: '`pg_live_` and 43 base64url characters. Shown only once.' }),
  operations: Type.Array(Type.String()),
  createdAt: instant('UTC'),
  expiresAt: orNull(instant('UTC')),
});

const KeyOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the current value.' }),
  username: orNull(Type.String({ description: 'The user who made it; null if an operator did.' })),
  operations: Type.Array(Type.String()),
  trafficType: Type.Enum(['production', 'trial'], { type: 'string' }),
  createdAt: instant('UTC'),
  lastUsedAt: orNull(instant('UTC, exact to about a minute.')),
  expiresAt: orNull(instant('UTC')),
  status: Type.Enum(['active', 'expired'], { type: 'string' }),
});

const KeyId = Type.Object({ id: id() });
/** Named like that of `KeyId`: it is the same path, and OpenAPI knows one name for each place in a path. */
const KeyValue = Type.Object({ id: Type.String({ description: 'The value of a key, not its ID.' }) });

/** Formats a new key with its value for responses. */
const toKeyIssued = (key: IssuedKey): Static<typeof KeyIssued> => ({
  id: key.id,
  name: key.name,
  description: key.description,
  apiKey: key.apiKey,
  operations: [...key.operations],
  createdAt: key.createdAt.toISOString(),
  expiresAt: key.expiresAt?.toISOString() ?? null,
});

/** Formats a key for lists. The plan `unlimited` sends production traffic too. */
const toKeyOut = (key: KeyRow): Static<typeof KeyOut> => ({
  id: key.id,
  name: key.name,
  description: key.description,
  prefix: key.prefix,
  username: key.username,
  operations: key.operations,
  trafficType: key.plan === 'trial' ? 'trial' : 'production',
  createdAt: key.createdAt.toISOString(),
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  expiresAt: key.expiresAt?.toISOString() ?? null,
  status: key.expired ? 'expired' : 'active',
});

const PATH = '/api/partner-gateway/v1/authentication';
const tags = ['API keys'];

const KeyQuery = Type.Object({
  ...pageFields,
  userId: Type.Optional(id('Only the keys that this user made.')),
  status: Type.Optional(Type.Enum(['active', 'expired'], { type: 'string', description: 'Only keys in this state.' })),
});

/**
 * Registers the routes for the keys of the caller's account. All need the scope `keys`; a foreign id gets the same
 * response as an unknown one.
 */
export function apiKeyRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.post(PATH, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createApiKey',
      summary: 'Create an API key',
      description:
        'The value of the key is shown only once. You cannot grant scopes that you lack yourself (403). ' +
        'Without a body, the key has all your scopes and never expires.',
      body: withExamples(Type.Union([KeyIn, Type.Null()]), {
        name: 'Web shop',
        operations: ['SMS', 'tracking'],
        expiresAt: null,
      }),
      response: { 201: KeyIssued },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) => {
      const { expiresAt, ...input } = body ?? {};
      const key = { ...input, expiresAt: expiresAt ? new Date(expiresAt) : undefined };
      return toKeyIssued(await createKey(tx, actor, key));
    }),
  });

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listApiKeys',
      summary: 'List the API keys of the account, oldest first',
      querystring: KeyQuery,
      response: { 200: PageOf(KeyOut) },
    },
    handler: async ({ actor, query }) => {
      const { userId = null, status, page, limit } = query;
      const expired = status === undefined ? null : status === 'expired';
      const filter = { accountId: actor.accountId, userId, expired };
      const db = tenant(pool, actor);
      const [rows, total] = await Promise.all([listKeys(db, { ...filter, page, limit }), countKeys(db, filter)]);
      return pageOf(query, rows.map(toKeyOut), total);
    },
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findApiKey',
      summary: 'Find an API key by its value',
      description: 'A value from before a rotation finds its key during its grace period.',
      params: KeyValue,
      response: { 200: KeyOut },
    },
    handler: async ({ actor, params }) => {
      const hash = hashOfKey(params.id);
      const key = hash && (await findKeyByHash(tenant(pool, actor), { accountId: actor.accountId, hash }));
      if (!key) throw new AppError('not_found');
      return toKeyOut(key);
    },
  });

  app.post(`${PATH}/:id/rotate`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'rotateApiKey',
      summary: 'Rotate an API key',
      description:
        'Gives the key a new value, which is shown only once. Id, scopes and expiry stay the same. The previous value keeps ' +
        'working for `graceSeconds`; deleting the key revokes both. 403 if you lack a scope of the key, 409 if the key ' +
        'has expired.',
      params: KeyId,
      body: withExamples(RotateIn, { graceSeconds: 3600 }),
      response: { 200: KeyIssued },
    },
    handler: idempotentTx({ pool, answers }, 200, async ({ actor, params, body }, tx) => {
      const input = { id: params.id, graceSeconds: body?.graceSeconds ?? 0 };
      return toKeyIssued(await rotateKey(tx, actor, input));
    }),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteApiKey',
      summary: 'Revoke an API key',
      description: 'The next request with the key gets 401.',
      params: KeyId,
      response: { 204: Type.Null({ description: 'Revoked' }) },
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => revokeKey(tx, actor, params)),
  });
}

type CreateOptions = { account: string; name: string; operations: readonly Scope[] };

/** Registers `key create` and `key revoke`. */
export function registerKeyCommands(program: Command, context: CommandContext): void {
  const key = program.command('key').description('API keys of the accounts');

  key
    .command('create')
    .description('create an API key; shows it once')
    .requiredOption('--account <account>', 'name or id of the account')
    .option('--name <name>', 'a name that distinguishes the key from others', '')
    .option('--operations <list>', `comma-separated scopes: ${SCOPES.join(', ')}`, parseScopes, [...SCOPES])
    .action(async (options: CreateOptions) => {
      const made = await context.withDatabase((pool) => transaction(pool, (tx) => createFor(tx, options)));
      context.report(made, ({ id, apiKey }) => `Key ${id}. Save it now, it is not shown again:\n  ${apiKey}`);
    });

  key
    .command('revoke')
    .argument('<id>', 'id of the key', parseId)
    .description('revoke an API key; the next request with it gets 401')
    .action(async (id: number) => {
      await context.withDatabase((pool) => transaction(pool, (tx) => revoke(tx, id)));
      context.report({ id, revoked: true }, () => `Key ${id} is revoked.`);
    });
}

async function createFor(tx: Db, options: CreateOptions): Promise<IssuedKey> {
  const { id } = await findAccount(tx, { reference: options.account });
  const operator = { ...operatorAuthor(id), operations: new Set(SCOPES) };
  return createKey(tx, operator, { name: options.name, operations: options.operations });
}

async function revoke(tx: Db, id: number): Promise<void> {
  const owner = await findAccountOfKey(tx, { id });
  if (!owner) throw new AppError('not_found', { message: `There is no key ${id}` });
  await revokeKey(tx, operatorAuthor(owner.accountId), { id });
}

function parseScopes(list: string): Scope[] {
  const words = list.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !SCOPES.some((scope) => scope === word));
  if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is not a scope.`);
  return SCOPES.filter((scope) => words.includes(scope));
}

function parseId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('The id must be a whole number.');
  return Number(text);
}

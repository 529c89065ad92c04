import { type Static, Type } from 'typebox';
import { SCOPES } from '../core/actor.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { id, instant, orNull, purposeSchema } from '../core/schema.ts';
import {
  countKeys,
  createKey,
  findKeyByHash,
  hashOfKey,
  type IssuedKey,
  type KeyRow,
  listKeys,
  revokeKey,
  rotateKey,
} from './api-keys.ts';

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
  purpose: Type.Optional(orNull(purposeSchema('Of its messages that state none; by default that of the account.'))),
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
  purpose: orNull(purposeSchema('Of its messages that state none; null: that of the account.')),
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
  purpose: key.purpose,
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
    config: { command: 'key create', secretAnswer: true },
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
    config: { command: 'key list' },
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
    config: { command: 'key rotate', secretAnswer: true },
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
    config: { command: 'key revoke' },
    schema: {
      tags,
      operationId: 'deleteApiKey',
      summary: 'Revoke an API key',
      description: 'The next request with the key gets 401.',
      params: KeyId,
      response: { 204: Type.Null({ description: 'Revoked' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => revokeKey(tx, actor, params)),
  });
}

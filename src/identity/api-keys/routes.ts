import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { removalTx } from '../../platform/http/removal.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { createKey } from './create.ts';
import { hashOfKey } from './key.ts';
import { revokeKey } from './revoke.ts';
import { rotateKey } from './rotate.ts';
import { toKeyIssued, KeyId, KeyIn, KeyIssued, KeyOut, KeyValue, toKeyOut, RotateIn } from './schema.ts';
import { countKeys, findKeyByHash, listKeys } from './sql.ts';
import { id } from '../../platform/lib/schema.ts';
import { withExamples } from '../../platform/http/schema.ts';

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

import { createHash } from 'node:crypto';
import type { RouteOptions } from 'fastify';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../test/support/database.ts';
import { apiDeps } from '../test/support/http/api.ts';
import { newKey } from '../test/support/http/routes.ts';
import { createAuthenticator } from './accounts/authenticate.ts';
import { buildApi } from './api.ts';
import { SCOPES } from './core/actor.ts';
import { silentLog } from './core/log.ts';
import { createAccount } from './operate/account-commands.ts';

// A cache in front of the program sees nothing but the headers of its responses. Every route is called here, without
// credentials, with a wrong key and with one that may do everything.

/** The routes whose responses are the same for all who may see them, and state how they may be stored. */
const STORED: ReadonlySet<string> = new Set([
  '/',
  '/assets/*',
  '/docs',
  '/docs/init.js',
  '/docs/scalar.js',
  '/help/*',
  '/openapi.json',
]);
/** The stream, which does not end. */
const STREAM = '/api/partner-gateway/v1/inbox/stream';

const database = await createTestDatabase();
const { pool } = database;
const authenticator = createAuthenticator({ pool, log: silentLog });
const app = buildApi(apiDeps({ pool, ...authenticator }));
const routes: Pick<RouteOptions, 'method' | 'url'>[] = [];
app.addHook('onRoute', ({ method, url }) => void routes.push({ method, url }));
await app.ready();

afterAll(async () => {
  await Promise.all([app.close(), authenticator.close()]);
  await database[Symbol.asyncDispose]();
});

const calls = routes
  .filter(({ url }) => !STORED.has(url) && url !== STREAM)
  .flatMap(({ method, url }) =>
    [method].flat().map((each) => ({ method: each as 'GET', url: url.replace(/:\w+/g, '1') })),
  );

const storageOf = async (call: { method: 'GET'; url: string }, headers: Record<string, string> = {}) => {
  const answer = await app.inject({ ...call, headers });
  return { ...call, status: answer.statusCode, cache: answer.headers['cache-control'] };
};

test('no response of the API may be stored by a cache, whatever the caller shows and whatever its status is', async () => {
  const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  const right = await newKey(pool, account, [...SCOPES]);
  const wrong = createHash('sha256').update('nobody').digest('hex');
  const seen = [];
  for (const call of calls)
    for (const headers of [{}, { 'x-api-key': wrong }, { 'x-api-key': right }])
      seen.push(await storageOf(call, headers));
  expect(seen.filter(({ cache }) => cache !== 'no-store')).toEqual([]);
  const statuses = new Set(seen.map(({ status }) => status));
  expect([200, 400, 401, 403, 404, 429].filter((status) => !statuses.has(status))).toEqual([]);
  expect(calls.length).toBeGreaterThan(200);
});

test('nor may the responses for paths and methods that do not exist, and URLs that cannot be read', async () => {
  const odd = [
    { method: 'GET', url: '/api/partner-gateway/v1/nothing' },
    { method: 'PUT', url: '/api/partner-gateway/v1/session' },
    { method: 'GET', url: '/api/%E0%A4%A' },
    { method: 'GET', url: '/nothing' },
    { method: 'GET', url: '/assets/nothing.js' },
  ] as const;
  const seen = await Promise.all(odd.map((call) => storageOf(call as { method: 'GET'; url: string })));
  expect(seen.map(({ status }) => status)).toEqual([404, 405, 400, 404, 404]);
  expect(seen.filter(({ cache }) => cache !== 'no-store')).toEqual([]);
});

test('the console and the documentation keep the responses by which browsers save requests', async () => {
  const seen = [];
  for (const url of ['/', '/docs', '/docs/init.js', '/openapi.json'])
    seen.push((await storageOf({ method: 'GET', url })).cache);
  expect(seen).toEqual(['no-cache', 'no-cache', 'no-cache', 'no-cache']);
});

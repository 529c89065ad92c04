import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { openRequest } from '../../../test/support/http/open-request.ts';
import { AppError } from '../errors.ts';
import { authentication } from './auth.ts';
import { createServer } from './server.ts';
import { UNAUTHENTICATED_BODY_BYTES } from './unauthenticated.ts';

const KEY = 'right';
const actor = { accountId: 1 };

/** A server with two routes without credentials, a callback that knows one address, and a route for customers. */
async function guardedServer() {
  const deps = apiDeps();
  const app = createServer(deps);
  const security = { security: [] };
  const body = Type.Object({ name: Type.String() });
  app.post('/open', { schema: { ...security, body } }, ({ body: { name } }) => {
    if (name === 'known') return { ok: true };
    throw new AppError('unauthenticated', { headers: { 'x-ratelimit-limit': '60' } });
  });
  const twoFields = Type.Object({ name: Type.String(), count: Type.Integer() });
  app.post('/two-fields/open', { schema: { ...security, body: twoFields } }, () => ({ ok: true }));
  app.post('/two-fields', { schema: { body: twoFields } }, () => ({ ok: true }));
  app.post('/other-open', { schema: { ...security, body } }, () => ({ ok: true }));
  app.post('/callback', { schema: security, config: { isKnownCaller: ({ ip }) => ip === '127.0.0.9' } }, () => {
    throw new AppError('unauthenticated');
  });
  app.register(async (closed) => {
    const authenticate = async ({ headers }: { headers: Record<string, unknown> }) => {
      if (headers['x-api-key'] !== KEY) throw new AppError('unauthenticated');
      return { actor: actor as never, headers: {} };
    };
    closed.register(authentication, { authenticate });
    closed.post('/customers', ({ body: read }) => ({ bytes: JSON.stringify(read).length }));
  });
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const post = async (path: string, text: string, { from = '127.0.0.2', headers = '' } = {}): Promise<number> => {
    const type = `Content-Type: application/json\r\nContent-Length: ${text.length}`;
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${type}\r\n${headers}\r\n`;
    return (await openRequest(server.port, head + text, from)).status();
  };
  /** Posts invalid requests, so often that the address has used up its failures. */
  const fail = async (path: string, text: string, from?: string): Promise<number[]> => {
    const statuses: number[] = [];
    for (let i = 0; i < 121; i++) statuses.push(await post(path, text, from === undefined ? {} : { from }));
    return statuses;
  };
  return { app, post, fail, port: server.port, metrics: () => deps.metrics.registry.metrics() };
}

const GOOD = '{"name":"known"}';

test('a body for a route without credentials has at most 4 KiB, one for customers a mebibyte', async () => {
  const { post } = await guardedServer();
  const long = JSON.stringify({ name: 'x'.repeat(UNAUTHENTICATED_BODY_BYTES) });
  expect(await post('/open', long)).toBe(413);
  expect(await post('/customers', long, { headers: `X-API-Key: ${KEY}\r\n` })).toBe(200);
});

test('an unauthenticated client learns the first fault, a customer every one', async () => {
  const { app } = await guardedServer();
  const details = async (url: string): Promise<unknown> =>
    (await app.inject({ method: 'POST', url, payload: { name: 1, count: 'x' } })).json().details;
  expect(await details('/two-fields/open')).toEqual([{ field: 'name', message: 'must be a string' }]);
  expect(await details('/two-fields')).toHaveLength(2);
});

test.each([
  ['malformed bodies', '{"name":', 400],
  ['invalid bodies', '{}', 400],
  ['bodies that are too large', 'x'.repeat(UNAUTHENTICATED_BODY_BYTES + 1), 413],
])('after 120 %s in a minute an address gets 429 there, before its body is read', async (_what, text, status) => {
  const { post, fail, port, metrics } = await guardedServer();
  const statuses = await fail('/open', text);
  expect(statuses.slice(0, 120).every((each) => each === status)).toBe(true);
  expect(statuses.at(-1)).toBe(429);
  const head = 'POST /open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
  const unread = await openRequest(port, head, '127.0.0.2');
  expect(await unread.status()).toBe(429);
  unread.destroy();
  expect(await post('/open', GOOD, { from: '127.0.0.3' })).toBe(200);
  expect(await post('/other-open', GOOD)).toBe(200);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="failures_of_address"} 2');
});

test('no failure of an unauthenticated client stops a customer behind the same address', async () => {
  const { post, fail } = await guardedServer();
  await fail('/open', '{}');
  await fail('/customers', '{}');
  expect(await post('/customers', '{}', { headers: `X-API-Key: ${KEY}\r\n` })).toBe(200);
});

test('a 401 that a specific limit has counted does not count twice', async () => {
  const { post, fail } = await guardedServer();
  expect(new Set(await fail('/open', '{"name":"wrong"}'))).toEqual(new Set([401]));
  expect(await post('/open', GOOD)).toBe(200);
});

test('a caller who has proven itself from an address is not locked out by the failures there', async () => {
  const { fail } = await guardedServer();
  expect((await fail('/callback', '{}')).at(-1)).toBe(429);
  expect((await fail('/callback', '{}', '127.0.0.9')).at(-1)).toBe(401);
});

test('what a foreign page makes a browser send does not lock out the person before it', async () => {
  const { post } = await guardedServer();
  const headers = 'Sec-Fetch-Site: cross-site\r\n';
  for (let i = 0; i < 130; i++) expect(await post('/open', '{}', { headers })).toBe(403);
  expect(await post('/open', GOOD)).toBe(200);
});

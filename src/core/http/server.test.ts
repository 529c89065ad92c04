import { gzipSync } from 'node:zlib';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { loadConfig } from '../config.ts';
import { AppError } from '../errors.ts';
import type { App, PlatformDeps } from './app.ts';
import { createServer } from './server.ts';

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const Body = Type.Object({ name: Type.String(), tags: Type.Array(Type.String()), note: Type.Optional(Type.String()) });
const Query = Type.Object({
  page: Type.Integer({ default: 0 }),
  only: Type.Optional(Type.Boolean()),
  ids: Type.Optional(Type.Array(Type.Integer())),
});

/** One route of each kind under both interfaces, and one for each way to fail. */
function testServer(overrides: Partial<PlatformDeps> = {}): App {
  const app = createServer(apiDeps(overrides));
  app.register(async (scope: App) => {
    for (const prefix of ['/api', '/services']) {
      const schema = { body: Body, querystring: Query, params: Type.Object({ id: Type.Integer() }) };
      scope.post(`${prefix}/items/:id`, { schema }, ({ body, query, params }) => ({ body, query, params }));
      scope.post(`${prefix}/bare`, () => ({ done: true }));
      scope.post(`${prefix}/small`, { bodyLimit: 10, schema: { body: Type.Object({}) } }, () => ({}));
      scope.get(`${prefix}/boom`, () => {
        throw Object.assign(new Error('secret words'), { code: '23505' });
      });
      scope.get(`${prefix}/away`, () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNREFUSED' })));
      scope.get(`${prefix}/busy`, () => Promise.reject(new AppError('rate_limited', { retryAfterSeconds: 1.2 })));
      scope.get(`${prefix}/taken`, { schema: { response: { '4xx': Type.Object({ other: Type.String() }) } } }, () => {
        throw new AppError('conflict', { message: 'The name is taken' });
      });
    }
  });
  return app;
}

const app = testServer();
const json = { 'content-type': 'application/json' };

/** Every class of failure: how to get it, its status and its message. */
const FAILURES = [
  { method: 'GET', path: '/nowhere', options: {}, status: 404, message: 'No such endpoint' },
  { method: 'DELETE', path: '/boom', options: {}, status: 405, message: 'Method not allowed on this path' },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: '{"a":', headers: json },
    status: 400,
    message: 'The body is not valid JSON',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: '{"__proto__":{"x":1}}', headers: json },
    status: 400,
    message: 'The body is not valid JSON',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: '{"constructor":{"prototype":1}}', headers: json },
    status: 400,
    message: 'The body is not valid JSON',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: Buffer.from('"caf\xe9"', 'latin1'), headers: json },
    status: 400,
    message: 'The body is not UTF-8',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: '{"a":"x\\u0000"}', headers: json },
    status: 400,
    message: 'The character U+0000 is not allowed',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: '{"a\\u0000":1}', headers: json },
    status: 400,
    message: 'The character U+0000 is not allowed',
  },
  { method: 'POST', path: '/bare?x=%00', options: {}, status: 400, message: 'The character U+0000 is not allowed' },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: 'x', headers: { 'content-type': 'text/plain' } },
    status: 415,
    message: 'Unsupported media type: send application/json',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    status: 415,
    message: 'Unsupported media type: send application/json',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: gzipSync('{}'), headers: { ...json, 'content-encoding': 'gzip' } },
    status: 415,
    message: 'Unsupported content coding: send the body uncompressed',
  },
  {
    method: 'POST',
    path: '/small',
    options: { payload: '{"aaaaaaaaa":1}', headers: json },
    status: 413,
    message: 'The request is too large',
  },
  {
    method: 'POST',
    path: '/bare',
    options: { payload: `"${'x'.repeat(1024 * 1024)}"`, headers: json },
    status: 413,
    message: 'The request is too large',
  },
  { method: 'GET', path: '/%zz', options: {}, status: 400, message: 'The URL is not valid' },
  { method: 'GET', path: '/boom', options: {}, status: 500, message: 'Internal error' },
  { method: 'GET', path: '/away', options: {}, status: 503, message: 'Temporarily unavailable: try again' },
  { method: 'GET', path: '/busy', options: {}, status: 429, message: 'Too many requests' },
  { method: 'GET', path: '/taken', options: {}, status: 409, message: 'The name is taken' },
] as const;

test.each(FAILURES)(
  '$method $path is $status in the one shape of errors: $message',
  async ({ method, path, options, status, message }) => {
    const answer = await app.inject({ method, url: `/api${path}`, ...options });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const requestId = answer.headers['x-request-id'];
    expect(requestId).toMatch(UUID7);
    expect(answer.json()).toMatchObject({ status, message, requestId, error: expect.any(String) });
    expect(Object.keys(answer.json())).not.toContain('code');
  },
);

test.each(FAILURES)(
  '$method $path is $status in the wholesale form: $message',
  async ({ method, path, options, status, message }) => {
    const answer = await app.inject({ method, url: `/services${path}`, ...options });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['x-request-id']).toMatch(UUID7);
    const delay = answer.headers['retry-after'];
    expect(answer.json()).toEqual({
      status: 'error',
      message,
      code: status,
      requestId: answer.headers['x-request-id'],
      ...(delay !== undefined && { retryAfter: Number(delay) }),
    });
  },
);

test('errors of an alias of the wholesale API have its form too', async () => {
  expect((await app.inject('/api/services/nowhere')).json()).toMatchObject({ status: 'error', code: 404 });
});

test('a 500 shows no internals', async () => {
  const { body } = await app.inject('/api/boom');
  expect(body).not.toMatch(/secret|23505|at Object/);
});

test('the delay is in seconds, in the header and in the body of either form', async () => {
  for (const url of ['/api/busy', '/services/busy']) {
    const busy = await app.inject(url);
    expect(busy.headers['retry-after']).toBe('2');
    expect(busy.json()).toMatchObject({ retryAfter: 2 });
  }
  expect((await app.inject('/api/away')).headers['retry-after']).toBe('2');
});

test('405 lists the methods of the path, also for patterns and with a trailing slash', async () => {
  expect((await app.inject({ method: 'PUT', url: '/api/items/7?x=1' })).headers['allow']).toBe('POST');
  expect((await app.inject({ method: 'PATCH', url: '/api/boom/' })).headers['allow']).toBe('GET, HEAD');
});

test('details name every invalid field, in every part of the request', async () => {
  const answer = await app.inject({
    method: 'POST',
    url: '/api/items/x?page=a&only=maybe',
    payload: { tags: ['a', 1, null] },
  });
  expect(answer.statusCode).toBe(400);
  expect(answer.json().details).toEqual([
    { field: 'id', message: 'must be a whole number' },
    { field: 'page', message: 'must be a whole number' },
    { field: 'only', message: 'must be true or false' },
    { field: 'name', message: 'is required' },
    { field: 'tags[1]', message: 'must be a string' },
    { field: 'tags[2]', message: 'must be a string' },
  ]);
  expect(answer.json().message).toContain('id must be a whole number');
});

test('a missing body is an invalid field', async () => {
  const answer = await app.inject({ method: 'POST', url: '/api/items/1', headers: json, payload: '' });
  expect(answer.json().details).toEqual([{ field: 'body', message: 'is required' }]);
});

test('a body with many faults is rejected without listing them all, and a large one with its first fault', async () => {
  const some = { name: 'n', tags: Array.from({ length: 1_900 }, () => 0) };
  const named = (await app.inject({ method: 'POST', url: '/api/items/1', payload: some })).json().details;
  expect(named).toHaveLength(101);
  expect(named[100]).toEqual({ field: '', message: 'and 1800 more' });
  const many = { name: 'n', tags: Array.from({ length: 200_000 }, () => 0) };
  expect((await app.inject({ method: 'POST', url: '/api/items/1', payload: many })).json().details).toEqual([
    { field: 'tags[0]', message: 'must be a string' },
  ]);
});

test('a body with more values than its route can use, or with a huge object, is a 413', async () => {
  const send = (payload: object) => app.inject({ method: 'POST', url: '/api/items/1', payload });
  const huge = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`key${i}`, 1]));
  for (const payload of [
    { name: 'n', tags: Array.from({ length: 250_000 }, () => 'x') },
    { ...huge, name: 'n' },
  ]) {
    const answer = await send(payload);
    expect(answer.statusCode).toBe(413);
    expect(answer.json()).toMatchObject({ status: 413, error: 'Payload Too Large', requestId: expect.any(String) });
  }
});

test('keys that would change prototypes are found behind escapes and deep inside', async () => {
  for (const payload of ['{"a":[{"__\\u0070roto__":1}]}', '{"\\u0063onstructor":{"prototype":1}}'])
    expect((await app.inject({ method: 'POST', url: '/api/bare', headers: json, payload })).statusCode).toBe(400);
  for (const payload of ['{"constructor":"Smith & Sons"}', '{"a":"__proto__"}'])
    expect((await app.inject({ method: 'POST', url: '/api/bare', headers: json, payload })).statusCode).toBe(200);
});

test('a body nested half a million deep is a 400, not a crash', async () => {
  const payload = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  const answer = await app.inject({ method: 'POST', url: '/api/items/1', headers: json, payload });
  expect(answer.statusCode).toBe(400);
});

test('bodies are not coerced: no number becomes a text, and no text a list', async () => {
  const answer = await app.inject({
    method: 'POST',
    url: '/api/items/1',
    payload: { name: 12, tags: 'a', note: true },
  });
  expect(answer.json().details.map((detail: { field: string }) => detail.field)).toEqual(['name', 'tags', 'note']);
});

test('query and path are text: numbers, booleans and single list entries are converted', async () => {
  const payload = { name: 'n', tags: [] };
  const answer = await app.inject({ method: 'POST', url: '/api/items/7?page=10&only=true&ids=1', payload });
  expect(answer.json()).toMatchObject({ params: { id: 7 }, query: { page: 10, only: true, ids: [1] } });
});

test('unknown fields are ignored, in the body and in the query', async () => {
  const payload = { name: 'n', tags: [], extra: { deep: 1 } };
  expect((await app.inject({ method: 'POST', url: '/api/items/7?what=ever', payload })).statusCode).toBe(200);
});

test.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain'])(
  'an empty body that is said to be %s is none',
  async (type) => {
    const headers = { 'content-type': type, 'content-length': '0' };
    expect((await app.inject({ method: 'POST', url: '/api/bare', headers })).statusCode).toBe(200);
  },
);

test('an escaped backslash before the letters u0000 is not U+0000', async () => {
  const answer = await app.inject({ method: 'POST', url: '/api/bare', headers: json, payload: '{"a":"\\\\u0000"}' });
  expect(answer.statusCode).toBe(200);
});

test('an empty JSON body is no body', async () => {
  const answer = await app.inject({ method: 'POST', url: '/api/bare', headers: json, payload: '' });
  expect(answer.json()).toEqual({ done: true });
});

test("the id of a request is our own, never the client's, and unique", async () => {
  const ask = () => app.inject({ method: 'POST', url: '/api/bare', headers: { 'x-request-id': 'mine' } });
  const [first, second] = [await ask(), await ask()].map((answer) => answer.headers['x-request-id']);
  expect(first).toMatch(UUID7);
  expect(second).toMatch(UUID7);
  expect(first).not.toBe(second);
});

describe('behind a proxy', () => {
  const proxied = testServer({ config: loadConfig({ TRUST_PROXY: '10.0.0.5', HOST: '0.0.0.0' }) });
  const from = (remoteAddress: string, proto?: string, url = '/api/bare') =>
    proxied.inject({
      method: 'POST',
      url,
      remoteAddress,
      headers: proto === undefined ? {} : { 'x-forwarded-proto': proto },
    });

  test('https through it is served, with HSTS', async () => {
    const answer = await from('10.0.0.5', 'https');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  test.each(['/api/bare', '/services/bare', '/nowhere', '/api/%zz', '/openapi.json'])(
    'http through it is 403 on %s, with a request id',
    async (url) => {
      const answer = await from('10.0.0.5', 'http', url);
      expect(answer.statusCode).toBe(403);
      expect(answer.headers['x-request-id']).toMatch(UUID7);
      expect(answer.json().message).toBe('Use HTTPS: plaintext requests are rejected');
    },
  );

  test('X-Forwarded-Proto of an untrusted address is 403, loopback is served', async () => {
    expect((await from('10.0.0.6', 'https')).statusCode).toBe(403);
    expect((await from('127.0.0.1')).statusCode).toBe(200);
  });

  test('X-Forwarded-For is trusted only from the proxy, counted from the right', async () => {
    const ips: string[] = [];
    const seen = createServer(apiDeps({ config: loadConfig({ TRUST_PROXY: '10.0.0.5' }) }));
    seen.get('/ip', (request) => ips.push(request.ip));
    const headers = { 'x-forwarded-for': '1.1.1.1, 2.2.2.2', 'x-forwarded-proto': 'https' };
    await seen.inject({ url: '/ip', remoteAddress: '10.0.0.5', headers });
    await seen.inject({ url: '/ip', remoteAddress: '127.0.0.1', headers });
    expect(ips).toEqual(['2.2.2.2', '127.0.0.1']);
  });
});

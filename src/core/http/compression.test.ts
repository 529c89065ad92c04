import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { describeApi } from './openapi.ts';
import { docsRoutes } from './pages.ts';
import { createServer } from './server.ts';

const LARGE = { data: Array.from({ length: 400 }, (_, id) => ({ id, name: `Contact number ${id}` })) };
const CSV = 'id,name\n'.repeat(4000);

const app = createServer(apiDeps());
describeApi(app);
app.register(async (scope) => {
  docsRoutes(scope);
  scope.get('/api/large', async () => LARGE);
  scope.post('/api/large', async () => LARGE);
  scope.get('/api/small', async () => ({ name: 'x'.repeat(4000) }));
  scope.get('/api/file', (_request, reply) => reply.type('text/csv').send(Readable.from([CSV])));
});

beforeAll(() => app.ready());
afterAll(() => app.close());

const accepting = (encodings: string) => ({ headers: { 'accept-encoding': encodings } });

test.each([
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['*', 'br'],
])('a large response to a client that accepts %s is compressed as %s', async (accepted, encoding) => {
  for (const method of ['GET', 'POST'] as const) {
    const { headers, rawPayload } = await app.inject({ method, url: '/api/large', ...accepting(accepted) });
    expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' });
    expect(Number(headers['content-length'])).toBe(rawPayload.length);
    const bytes = encoding === 'br' ? brotliDecompressSync(rawPayload) : gunzipSync(rawPayload);
    expect(JSON.parse(bytes.toString())).toEqual(LARGE);
    expect(rawPayload.length * 4).toBeLessThan(bytes.length);
  }
});

test.each(['', 'identity', 'deflate', 'br;q=0, gzip;q=0'])(
  'a client that accepts "%s" gets the response as it is, and caches learn that others do not',
  async (accepted) => {
    const { headers, body } = await app.inject({ url: '/api/large', ...accepting(accepted) });
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(JSON.parse(body)).toEqual(LARGE);
  },
);

test('small responses and streams pass unchanged', async () => {
  const small = await app.inject({ url: '/api/small', ...accepting('br, gzip') });
  expect(small.headers['content-encoding']).toBeUndefined();
  const file = await app.inject({ url: '/api/file', ...accepting('br, gzip') });
  expect(file.headers['content-encoding']).toBeUndefined();
  expect(file.body).toBe(CSV);
});

test('the response to HEAD has no body, and the length of the uncompressed response', async () => {
  const { headers, body } = await app.inject({ method: 'HEAD', url: '/api/large', ...accepting('gzip') });
  expect(body).toBe('');
  expect(Number(headers['content-length'])).toBe(JSON.stringify(LARGE).length);
});

test.each(['/openapi.json', '/docs/scalar.js'])('%s is compressed for those who accept it', async (url) => {
  const whole = await app.inject(url);
  expect(whole.headers['content-encoding']).toBeUndefined();
  for (const encoding of ['gzip', 'br', 'gzip']) {
    const { headers, rawPayload } = await app.inject({ url, ...accepting(encoding) });
    expect(headers).toMatchObject({ 'content-encoding': encoding, 'content-type': whole.headers['content-type'] });
    const bytes = encoding === 'br' ? brotliDecompressSync(rawPayload) : gunzipSync(rawPayload);
    expect(bytes.equals(whole.rawPayload)).toBe(true);
  }
});

test('fetch(), which accepts gzip, gives the response as it was', async () => {
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const answer = await fetch(`${origin}/api/large`);
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  expect(await answer.json()).toEqual(LARGE);
});

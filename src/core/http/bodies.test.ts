import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { type OpenRequest, openRequest } from '../../../test/support/http/open-request.ts';
import { until } from '../../../test/support/until.ts';
import { loadConfig } from '../config.ts';
import { AppError } from '../errors.ts';
import { authentication } from './auth.ts';
import { createServer } from './server.ts';

const MIB = 1024 * 1024;
/** Half of the limit of one unauthenticated client. */
const HALF = 2 * MIB;

/**
 * A server with 128 MiB for bodies: 32 for an account, 32 for all unauthenticated clients, 4 for each of them. An API
 * key is the number of its account.
 */
async function boundedServer() {
  const deps = apiDeps({ config: loadConfig({ MAX_BODY_MIB: '128' }) });
  const app = createServer(deps);
  const config = { unauthenticated: true };
  app.post('/open', { config, bodyLimit: 2 * HALF }, ({ body }) => ({ length: String(body).length }));
  app.register(async (closed) => {
    const authenticate = async ({ headers }: { headers: Record<string, unknown> }) => {
      if (headers['x-api-key'] === undefined) throw new AppError('unauthenticated');
      return { actor: { accountId: Number(headers['x-api-key']) } as never, headers: {} };
    };
    closed.register(authentication, { authenticate });
    closed.post('/customer', { bodyLimit: 16 * MIB }, ({ body }) => ({ length: String(body).length }));
  });
  app.server.setMaxListeners(100);
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());
  /** Sends the head of a request and the first byte of its body. */
  const begin = async (path: string, bytes: number | 'chunked', { from = '127.0.0.2', key = '' } = {}) => {
    const length = bytes === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`;
    const credentials = key === '' ? '' : `X-API-Key: ${key}\r\n`;
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${credentials}${length}\r\n\r\n`;
    const arrived = new Promise((resolve) => app.server.once('request', resolve));
    const request = await openRequest(server.port, `${head}${bytes === 'chunked' ? '1\r\n"\r\n' : '"'}`, from);
    onTestFinished(() => request.destroy());
    await arrived;
    return request;
  };
  return { begin, metrics: () => deps.metrics.registry.metrics() };
}

/** Sends the rest of a body that `begin` began, and resolves with the status of the response. */
function complete(request: OpenRequest, bytes: number): Promise<number> {
  request.send(`${'x'.repeat(bytes - 2)}"`);
  return request.status();
}

test('unauthenticated bodies from one address are bounded, and another address is served meanwhile', async () => {
  const { begin, metrics } = await boundedServer();
  await begin('/open', HALF);
  await begin('/open', HALF);
  const third = await begin('/open', HALF);
  expect(await third.status()).toBe(429);
  const other = await begin('/open', HALF, { from: '127.0.0.3' });
  expect(await complete(other, HALF)).toBe(200);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="bodies_of_caller"} 1');
});

test('a body counts until its request has a response or is gone', async () => {
  const { begin } = await boundedServer();
  const [first, second] = [await begin('/open', HALF), await begin('/open', HALF)];
  expect(await complete(first, HALF)).toBe(200);
  second.destroy();
  await until('two places', async () => {
    const next = await begin('/open', 2 * HALF);
    return (await complete(next, 2 * HALF)) === 200;
  });
});

test('a body without a length counts with the most that its route accepts', async () => {
  const { begin } = await boundedServer();
  await begin('/open', 'chunked');
  expect(await (await begin('/open', 'chunked')).status()).toBe(429);
});

test('many addresses cannot starve another one: who holds the most gives up a body that still arrives', async () => {
  const { begin } = await boundedServer();
  const greedy: OpenRequest[] = [];
  for (let n = 0; n < 8; n++)
    for (let each = 0; each < 2; each++) greedy.push(await begin('/open', HALF, { from: `127.0.1.${n}` }));
  const modest = await begin('/open', HALF, { from: '127.0.2.1' });
  expect(await complete(modest, HALF)).toBe(200);
  await until('one of them closed', () => greedy.filter((each) => each.isClosed()).length === 1);
  const cut = greedy.find((each) => each.isClosed());
  expect(await cut?.end()).toMatch(/^HTTP\/1.1 503 [^]*Retry-After: 5\r\n[^]*"retryAfter":5/);
});

test('unauthenticated clients take nothing from customers, and one customer nothing from another one', async () => {
  const { begin } = await boundedServer();
  for (let n = 0; n < 8; n++) for (let each = 0; each < 2; each++) await begin('/open', HALF, { from: `127.0.1.${n}` });
  for (let each = 0; each < 4; each++) await begin('/customer', 8 * MIB, { key: '1' });
  expect(await (await begin('/customer', 8 * MIB, { key: '1' })).status()).toBe(429);
  const other = await begin('/customer', 8 * MIB, { key: '2' });
  expect(await complete(other, 8 * MIB)).toBe(200);
});

test('small bodies are never refused, however many there are', async () => {
  const { begin } = await boundedServer();
  for (let n = 0; n < 2; n++) await begin('/open', HALF);
  const small = await Promise.all(Array.from({ length: 50 }, () => begin('/open', 1000)));
  expect(new Set(await Promise.all(small.map((each) => complete(each, 1000))))).toEqual(new Set([200]));
});

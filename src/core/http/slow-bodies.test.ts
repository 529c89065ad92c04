import type { Socket } from 'node:net';
import { Type } from 'typebox';
import { expect, onTestFinished, test, vi } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { type OpenRequest, openRequest } from '../../../test/support/http/open-request.ts';
import { until } from '../../../test/support/until.ts';
import { createServer } from './server.ts';

/** A server with a manual clock, and a function that sends a POST to it. */
async function stoppedServer() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const deps = apiDeps();
  const direct = { path: '/direct', scope: 'SMS', body: Type.Object({}), authenticate: deps.authenticate } as const;
  const app = createServer(deps, undefined, { ...direct, read: () => async () => ({}) });
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  app.post(direct.path, () => ({}));
  app.post('/', ({ body }) => ({ bytes: JSON.stringify(body).length }));
  app.post('/refuses', { onRequest: (_request, reply) => void reply.code(403).send({ refused: true }) }, () => ({}));
  const mayRead = Promise.withResolvers<void>();
  app.post('/late', { onRequest: () => mayRead.promise }, () => ({ done: true }));
  app.post('/slow', async () => {
    reached.resolve();
    await release.promise;
    return { done: true };
  });
  const sockets: Socket[] = [];
  app.server.on('connection', (socket) => sockets.push(socket));
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());

  const post = async (path: string, headers: string, body = ''): Promise<OpenRequest> => {
    const arrived = new Promise<void>((resolve) => {
      app.server.once('request', () => resolve()).once('checkExpectation', () => resolve());
    });
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`;
    const request = await openRequest(server.port, head + body);
    onTestFinished(() => request.destroy());
    await arrived;
    return request;
  };
  const countReceived = (): number => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  /** Sends more, and waits until it has arrived. */
  const sendMore = async (request: OpenRequest, bytes: string): Promise<void> => {
    const expected = countReceived() + bytes.length;
    request.send(bytes);
    await until('the bytes', () => countReceived() >= expected);
  };
  const metrics = () => deps.metrics.registry.metrics();
  return { post, sendMore, reached: reached.promise, release: release.resolve, readAll: mayRead.resolve, metrics };
}

const pass = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000);
const LENGTH = 'Content-Length: 100000';

test.each([
  ['with a length', LENGTH, '{"a":"'],
  ['in chunks', 'Transfer-Encoding: chunked', '6\r\n{"a":"\r\n'],
  ['of which nothing comes', LENGTH, ''],
  ['with an unknown Expect', `Expect: miracles\r\n${LENGTH}`, ''],
])('a body %s that stops for ten seconds is 408, and the connection is closed', async (_what, headers, begin) => {
  const { post, metrics } = await stoppedServer();
  const request = await post('/', headers, begin);
  pass(9);
  expect(request.isClosed()).toBe(false);
  pass(2);
  const answer = await request.end();
  expect(answer).toMatch(/^HTTP\/1.1 408 [^]*"requestId":"[0-9a-f-]{36}"/);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="slow_body"} 1');
});

test.each([
  ['/', LENGTH],
  ['/direct', 'X-API-Key: any\r\nContent-Length: 4000'],
])('a body to %s that drips a byte a second is ended like one that stands still', async (path, headers) => {
  const { post, sendMore } = await stoppedServer();
  const request = await post(path, headers, '{"a":"');
  for (let second = 0; second < 9; second++) {
    await sendMore(request, 'x');
    pass(1);
  }
  pass(2);
  expect(await request.end()).toMatch(/^HTTP\/1.1 408 /);
});

test('a body that brings a kibibyte every nine seconds arrives, however long it takes', async () => {
  const { post, sendMore } = await stoppedServer();
  const kibibyte = 'x'.repeat(1024);
  const request = await post('/', `Content-Length: ${1024 * 20 + 2}`, '"');
  for (let i = 0; i < 20; i++) {
    pass(9);
    await sendMore(request, kibibyte);
  }
  request.send('"');
  expect(await request.status()).toBe(200);
});

test('a request that has arrived may take as long as its handler needs', async () => {
  const { post, reached, release } = await stoppedServer();
  const request = await post('/slow', 'Content-Length: 2', '{}');
  await reached;
  pass(60);
  release();
  expect(await request.status()).toBe(200);
});

test('a body that waits because we do not read it is not ended', async () => {
  const { post, sendMore, readAll } = await stoppedServer();
  const body = 'x'.repeat(200_000);
  const request = await post('/late', `Content-Length: ${body.length + 2}`, '"');
  await sendMore(request, body.slice(0, 50_000));
  pass(60);
  readAll();
  request.send(`${body.slice(50_000)}"`);
  expect(await request.status()).toBe(200);
});

test('the rest of a body that was refused unread may come for ten seconds, then the connection is closed', async () => {
  const { post, sendMore } = await stoppedServer();
  const request = await post('/refuses', 'Content-Length: 10000000');
  expect(await request.status()).toBe(403);
  for (let second = 0; second < 10; second++) {
    await sendMore(request, 'x'.repeat(2000));
    pass(1);
  }
  expect((await request.end()).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 403']);
});

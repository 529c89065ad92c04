import { once } from 'node:events';
import http from 'node:http';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { createServer } from './server.ts';
import { closeWithin } from './shutdown.ts';

/** A server whose GET /slow answers when it is told to, and tells when it has arrived. */
function slowServer() {
  const app = createServer(apiDeps());
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  app.get('/slow', async () => {
    arrived.resolve();
    await release.promise;
    return { done: true };
  });
  return { app, arrived: arrived.promise, release: release.resolve };
}

test('a request in progress is answered, although its connection was to be kept alive', async () => {
  const { app, arrived, release } = slowServer();
  await using server = await listening(app);
  const agent = new http.Agent({ keepAlive: true });
  const request = http.get(`${server.url}/slow`, { agent });
  await arrived;
  const closed = closeWithin(app, 10_000);
  release();
  const [response] = await once(request, 'response');
  expect(response.statusCode).toBe(200);
  response.resume();
  const started = performance.now();
  await closed;
  expect(performance.now() - started).toBeLessThan(8_000);
});

test('a request that does not end is aborted at the deadline', async () => {
  const { app, arrived, release } = slowServer();
  await using server = await listening(app);
  const cut = once(http.get(`${server.url}/slow`), 'response').catch((error: NodeJS.ErrnoException) => error.code);
  await arrived;
  await closeWithin(app, 100);
  expect(await cut).toBe('ECONNRESET');
  release();
});

test('connections are refused from the start of the shutdown', async () => {
  const { app, arrived, release } = slowServer();
  await using server = await listening(app);
  const request = http.get(`${server.url}/slow`).on('response', (response) => response.resume());
  await arrived;
  const closed = closeWithin(app, 10_000);
  await expect.poll(() => fetch(`${server.url}/slow`).then(String, () => 'refused')).toBe('refused');
  release();
  await Promise.all([closed, once(request, 'close')]);
});

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { TEST_CERT, TEST_KEY } from '../../../test/support/http/certificate.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { loadConfig } from '../config.ts';
import { closeWithin, createServer } from './server.ts';

/** A server whose GET /slow responds on command, and reports its arrival. */
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

test('a request in progress gets a response, although its connection was to be kept alive', async () => {
  const { app, arrived, release } = slowServer();
  await using server = await listening(app);
  const agent = new http.Agent({ keepAlive: true });
  const request = http.get(`${server.url}/slow`, { agent });
  await arrived;
  const closed = closeWithin(app, 120_000);
  release();
  const [response] = await once(request, 'response');
  expect(response.statusCode).toBe(200);
  response.resume();
  const started = performance.now();
  await closed;
  expect(performance.now() - started).toBeLessThan(100_000);
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

test('a connection whose TLS handshake has not ended does not hold up the end', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'heliograph-stop-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  await Promise.all([writeFile(certFile, TEST_CERT), writeFile(keyFile, TEST_KEY)]);
  const config = loadConfig({ TLS_CERT: certFile, TLS_KEY: keyFile });
  const app = createServer(apiDeps({ config }));
  const server = await listening(app);
  const silent = net.connect(server.port, '127.0.0.1');
  const { promise: accepted, resolve } = Promise.withResolvers<void>();
  app.server.once('connection', () => resolve());
  await accepted;
  await closeWithin(app, 100);
  silent.destroy();
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

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { TEST_CERT, TEST_KEY } from '../../../test/support/http/certificate.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { type Config, loadConfig } from '../config.ts';
import { createLog } from '../log.ts';
import { createServer, listen, originOf } from './server.ts';

let dir: string;
let config: Config;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'heliograph-tls-'));
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  await Promise.all([writeFile(certFile, TEST_CERT), writeFile(keyFile, TEST_KEY)]);
  config = loadConfig({ TLS_CERT: certFile, TLS_KEY: keyFile, HOST: '0.0.0.0' });
});
afterAll(() => rm(dir, { recursive: true }));

function secureServer() {
  const app = createServer(apiDeps({ config }));
  app.get('/', () => ({ ok: true }));
  return app;
}

test('with a certificate the server speaks HTTPS, with HSTS and a request id', async () => {
  const app = secureServer();
  await using server = await listening(app);
  expect(originOf(app, config)).toBe(`https://127.0.0.1:${server.port}`);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  https.get({ port: server.port, host: '127.0.0.1', ca: TEST_CERT }, resolve).on('error', reject);
  const { statusCode, headers } = (await promise).resume();
  expect(statusCode).toBe(200);
  expect(headers).toMatchObject({
    'strict-transport-security': 'max-age=31536000',
    'x-request-id': expect.any(String),
  });
});

test('the log names the address with https', async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) });
  const app = createServer({ ...apiDeps({ config }), log });
  await listen(app, { ...config, host: '127.0.0.1', port: 0 });
  await app.close();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    expect.stringMatching(/^listening on https:\/\/127\.0\.0\.1:\d+$/),
  ]);
});

test.each([
  ['TLSv1.1', 'error'],
  ['TLSv1.2', 'secureConnect'],
  ['TLSv1.3', 'secureConnect'],
] as const)('%s ends in %s', async (version, end) => {
  await using server = await listening(secureServer());
  const { promise, resolve } = Promise.withResolvers<string>();
  const versions = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  const socket = tls.connect({ port: server.port, host: '127.0.0.1', ca: TEST_CERT, ...versions });
  socket.on('error', () => resolve('error')).on('secureConnect', () => resolve('secureConnect'));
  expect(await promise).toBe(end);
  socket.destroy();
});

test('unusable files are named in a sentence before anything listens', () => {
  const wrong = { ...config, tls: { certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'nothing.pem') } };
  expect(() => createServer(apiDeps({ config: wrong }))).toThrow(
    /^TLS_CERT and TLS_KEY cannot be used: .*nothing\.pem/,
  );
});

import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { apiDeps } from '../../test/support/http/api.ts';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { buildApi } from '../api.ts';
import { installationOf } from '../core/machine.ts';
import { createSecretKey } from '../core/secrets.ts';
import { checkFromOutside } from './doctor-checks.ts';

const { pool } = testDatabase();
const KEY = createSecretKey(Buffer.alloc(32, 1));
const OTHER_KEY = createSecretKey(Buffer.alloc(32, 2));

/** Starts an HTTPS server at a loopback address, and returns its origin. */
async function listen(listener: RequestListener): Promise<string> {
  const server = https.createServer({ cert: TEST_CERT, key: TEST_KEY }, listener).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function listenAs(key: typeof KEY): Promise<string> {
  const app = buildApi(apiDeps({ pool, secretKey: key }));
  await app.ready();
  return listen(app.routing);
}

async function settings(publicUrl: string, allowedBlocks = ['127.0.0.0/8']) {
  const folder = await temporaryFolder('heliograph-outside-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  return { publicUrl, webhooks: { allowedBlocks, ports: [443], caFile } };
}

const check = async (publicUrl: string, allowedBlocks?: string[]) =>
  checkFromOutside(await settings(publicUrl, allowedBlocks), KEY);

test('the address is well when this installation responds there, and not when another one does', async () => {
  expect(await check(await listenAs(KEY))).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/this installation$/),
  });
  expect(await check(await listenAs(OTHER_KEY))).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/an installation with another SECRET_KEY$/),
  });
});

test('another program, an error, silence and an address without HTTPS are distinguished', async () => {
  const strange = await check(await listen((_request, response) => void response.end('hello')));
  expect(strange).toMatchObject({ ok: false, detail: expect.stringMatching(/reaches another program$/) });
  const broken = await check(await listen((_request, response) => void response.writeHead(502).end()));
  expect(broken).toMatchObject({ ok: false, detail: expect.stringMatching(/HTTP status 502$/) });
  expect((await check('https://127.0.0.1:1')).detail).toMatch(/the connection was refused$/);
  expect((await check('http://127.0.0.1:8080')).detail).toMatch(/has no HTTPS$/);
});

test('what is below the path of PUBLIC_URL is called, as in all links', async () => {
  const paths: (string | undefined)[] = [];
  const origin = await listen(({ url }, response) => {
    paths.push(url);
    response.end();
  });
  await check(`${origin}/gateway`);
  expect(paths).toEqual([expect.stringMatching(/^\/gateway\/api\//)]);
});

test('a response that never ends, one that is no HTTP, and a missing file of authorities are named as such', async () => {
  const endless = await check(await listen((_request, response) => void response.writeHead(200).write('x')));
  expect(endless.detail).toMatch(/cannot be reached: the response did not arrive in time$/);
  const odd = await check(await listen((_request, response) => void response.writeHead(999).end()));
  expect(odd.detail).toMatch(/cannot be reached: the response is not valid HTTP$/);
  const { publicUrl, webhooks } = await settings(await listenAs(KEY));
  const lacking = await checkFromOutside({ publicUrl, webhooks: { ...webhooks, caFile: '/none/ca.pem' } }, KEY);
  expect(lacking).toMatchObject({ ok: false, advice: 'WEBHOOK_CA_FILE /none/ca.pem cannot be read: correct it.' });
});

test('an address that is not public is not called, unless the settings allow it', async () => {
  const found = await check(await listenAs(KEY), []);
  expect(found).toMatchObject({ ok: false, advice: expect.stringContaining('WEBHOOK_ALLOW_CIDRS') });
  expect(found.detail).toMatch(/the host has a non-public address$/);
});

test('the id of an installation shows nothing of its key', () => {
  expect(installationOf(KEY)).toMatch(/^[0-9a-f]{32}$/);
  expect(KEY.bytes.toString('hex')).not.toContain(installationOf(KEY));
  expect(installationOf(KEY)).not.toBe(installationOf(OTHER_KEY));
});

import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRequest } from '../../test/support/http/open-request.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { signatureOf } from '../channels/whatsapp/client.ts';
import { loadConfig } from '../core/config.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { createConnection } from '../routing/connections.ts';

const APP_SECRET = 'the-app-secret';
const SIGNATURE = 'X-Hub-Signature-256: ';

let program: TestProgram;
let port: number;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  const key = await loadSecretKey(loadConfig(program.environment));
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  await createConnection(program.pool, key, {
    name: 'meta',
    kind: 'whatsapp',
    settings: { baseUrl: 'http://127.0.0.1:9', wabaId: '500', phoneNumberIds: ['106'] },
    secret: { accessToken: 'token', appSecret: APP_SECRET, verifyToken: 'hello-meta' },
    sandbox: false,
  });
  await createConnection(program.pool, key, {
    name: 'google',
    kind: 'rcs',
    settings: {},
    secret: { clientEmail: 'proof@example.com', privateKey, clientToken: 'the-client-token' },
    sandbox: false,
  });
  // Which reads the connections.
  await program.stop();
  await program.start();
  port = Number(new URL(program.origin()).port);
});
afterAll(() => program[Symbol.asyncDispose]());

/** Sends the head of a callback and nothing of its body; resolves with the status of the response. */
async function begin(path: string, length: number | 'chunked', header = ''): Promise<number> {
  const framing = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  const extra = header === '' ? '' : `${header}\r\n`;
  const request = await openRequest(
    port,
    `POST /api/callbacks/${path} HTTP/1.1\r\nHost: a\r\n${extra}${framing}\r\n\r\n`,
  );
  const status = await request.status();
  request.destroy();
  return status;
}

const MIB = 1024 * 1024;

test('what can be refused without its body is refused before any of it is read', async () => {
  expect(await begin('whatsapp/nobody', 4 * MIB, `${SIGNATURE}sha256=00`)).toBe(404);
  expect(await begin('whatsapp/google', 4 * MIB, `${SIGNATURE}sha256=00`)).toBe(404);
  expect(await begin('whatsapp/meta', 4 * MIB)).toBe(401);
  expect(await begin('whatsapp/meta', 'chunked')).toBe(401);
  expect(await begin('rcs/google', 5000)).toBe(401);
  expect(await begin('rcs/google', 'chunked')).toBe(401);
  expect(await begin('rcs/google', MIB, 'X-Goog-Signature: aa')).toBe(413);
  expect(await begin('whatsapp/meta', 5 * MIB, `${SIGNATURE}sha256=00`)).toBe(413);
});

const CALLBACK = JSON.stringify({ object: 'whatsapp_business_account', entry: [] });

async function post(from: string, signature: string): Promise<number> {
  const head = `POST /api/callbacks/whatsapp/meta HTTP/1.1\r\nHost: a\r\n${SIGNATURE}${signature}\r\nConnection: close`;
  const request = await openRequest(port, `${head}\r\nContent-Length: ${CALLBACK.length}\r\n\r\n${CALLBACK}`, from);
  return request.status();
}
const postGenuine = (from: string): Promise<number> => post(from, signatureOf(CALLBACK, APP_SECRET));
const postForged = (from: string): Promise<number> => post(from, signatureOf(CALLBACK, 'another secret'));

test('forged callbacks use up the failures of an address, but do not keep out a carrier that is known from there', async () => {
  const [forger, shared, other] = ['127.0.0.21', '127.0.0.22', '127.0.0.23'] as const;
  expect(await postGenuine(shared)).toBe(200);
  for (const from of [forger, shared]) {
    for (let n = 0; n < 120; n++) expect(await postForged(from)).toBe(401);
  }
  expect(await postForged(forger)).toBe(429);
  expect(await postGenuine(shared)).toBe(200);
  expect(await postGenuine(other)).toBe(200);
});

import { rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listInboundMessages } from '../../src/messages/inbound-store.ts';
import { startServer } from '../../src/sandbox/http-server.ts';
import { TEST_CERT, TEST_KEY } from '../support/http/certificate.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

// Two gateways: `upstream` has an SMSC and is the carrier of `downstream` over HTTP.

const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';
const CALLBACK = '/api/callbacks/http/upstream';

let folder: string;
let front: Awaited<ReturnType<typeof startFront>>;
let upstream: TestProgram;
let downstream: TestProgram;

/** An HTTPS address of the downstream gateway. It passes each callback on twice, and responds with the worse status. */
async function startFront() {
  const pass = async ({ url, headers }: IncomingMessage, body: Buffer): Promise<number> => {
    const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      name.startsWith('webhook-') || name === 'content-type' ? [[name, String(value)]] : [],
    );
    const { status } = await fetch(`${downstream.origin()}${url}`, { method: 'POST', headers: kept, body });
    return status;
  };
  const server = createServer({ cert: TEST_CERT, key: TEST_KEY }, (request, response) => {
    const answer = async (): Promise<void> => {
      const body = await buffer(request);
      const [first, second] = [await pass(request, body), await pass(request, body)];
      response.writeHead(Math.max(first, second)).end();
    };
    void answer();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return { port: address.port, url: `https://127.0.0.1:${address.port}`, close: () => server.close() };
}

beforeAll(async () => {
  folder = await temporaryFolder('heliograph-http-carrier-');
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  front = await startFront();
  const allowed = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  upstream = await startTestProgram({
    environment: { ...allowed, WEBHOOK_PORTS: String(front.port), WEBHOOK_CA_FILE: caFile },
  });
  downstream = await startTestProgram({ carriers: {}, environment: allowed });
  const { body } = await upstream.client.request('POST', WEBHOOK, {
    body: { callbackUrl: `${front.url}${CALLBACK}` },
  });
  const { secret } = body as { secret: string };
  const set = [`baseUrl=${upstream.origin()}`, `apiKey=${upstream.account.apiKey}`, `signingKey=${secret}`];
  const add = ['connection', 'add', 'http', '--name', 'upstream', '--preset', 'heliograph', '--set', ...set];
  expect(await runOperatorCommand(downstream, ...add)).toMatchObject({ code: 0 });
  const route = ['route', 'add', '--channel', 'SMS', '--connection', 'upstream'];
  expect(await runOperatorCommand(downstream, ...route)).toMatchObject({ code: 0 });
  await until('the connection', async () => {
    const { rows } = await downstream.pool.query('SELECT FROM connection_status WHERE up');
    return rows.length > 0;
  });
});
afterAll(async () => {
  await downstream[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  front.close();
  await rm(folder, { recursive: true });
});

test('messages go over another gateway, each once, and its receipts come back as signed callbacks', async () => {
  const texts = ['Hello', 'Olá 😀', 'A long text that has several parts. '.repeat(10).trim()];
  const sent = await Promise.all(
    texts.map((message, n) => downstream.client.send({ phoneNumber: `+39333123456${n}`, message })),
  );
  for (const { messageId } of sent) await downstream.client.untilStatus(messageId ?? '', 'DELIVERED');
  const { rows } = await upstream.pool.query('SELECT count(*)::int AS count FROM message');
  expect(rows).toEqual([{ count: texts.length }]);
});

test('an inbound message of the other gateway arrives once, although its callback came twice', async () => {
  const assign = (program: TestProgram, connection: string) =>
    runOperatorCommand(
      program,
      'number',
      'assign',
      '--number',
      '4400',
      '--connection',
      connection,
      '--account',
      'Acme',
    );
  expect(await assign(upstream, 'main')).toMatchObject({ code: 0 });
  expect(await assign(downstream, 'upstream')).toMatchObject({ code: 0 });
  await upstream.smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Ciao 😀' });
  const { accountId } = downstream.account;
  const received = await until('the message', async () => {
    const found = await listInboundMessages(downstream.pool, { accountId, limit: 10 });
    return found.length > 0 && found;
  });
  expect(received).toMatchObject([{ source: '393331234567', destination: '4400', body: 'Ciao 😀' }]);
});

test('a callback without a valid signature is refused', async () => {
  const forged = { eventType: 'DELIVERY', messageId: 'm', statusCode: 3 };
  const headers = {
    'webhook-id': 'a',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': 'v1,AAAA',
  };
  const post = (more: object) =>
    fetch(`${downstream.origin()}${CALLBACK}`, {
      method: 'POST',
      body: JSON.stringify(forged),
      headers: { 'content-type': 'application/json', ...more },
    });
  expect((await post(headers)).status).toBe(401);
  expect((await post({})).status).toBe(401);
});

test('a test of the connection shows a request and a response, without the key', async () => {
  const { code, answer } = await runOperatorCommand(downstream, 'connection', 'test', 'upstream');
  expect(code).toBe(0);
  const { detail } = answer as { detail: string };
  expect(detail).toContain(`POST ${upstream.origin()}/api/message-server/sms/send`);
  expect(detail).toContain('x-api-key: <apiKey>');
  expect(JSON.stringify(answer)).not.toContain(upstream.account.apiKey);
});

test('over a carrier with faults each message is sent once and has one end, whenever its receipts come', async () => {
  const attempts = new Map<string, number>();
  /** Reports as a carrier does: twice. */
  const report = async (callback: string, receipt: object): Promise<void> => {
    const { pathname, search } = new URL(callback);
    for (let n = 0; n < 2; n++) {
      const { status } = await fetch(`${downstream.origin()}${pathname}${search}`, {
        method: 'POST',
        body: JSON.stringify(receipt),
        headers: { 'content-type': 'application/json' },
      });
      expect(status).toBe(200);
    }
  };
  const carrier = await startServer({
    maxBytes: 10_000,
    async handle({ method, body }) {
      if (method === 'GET') return { status: 200, body: {} };
      const { to, ref, callback } = JSON.parse(body.toString());
      const count = (attempts.get(to) ?? 0) + 1;
      attempts.set(to, count);
      const receipt = { id: `id-${to}`, ref, state: 'delivered' };
      if (to.endsWith('1')) await report(callback, receipt);
      if (to.endsWith('2') && count < 3) return { status: 429, headers: { 'retry-after': '0' }, body: '' };
      if (!to.endsWith('1')) setTimeout(() => void report(callback, receipt), 50);
      if (to.endsWith('3')) return { status: 502, body: 'Bad Gateway' };
      if (to.endsWith('4')) return 'silent';
      return { status: 200, body: { id: `id-${to}` } };
    },
  });
  onTestFinished(() => carrier.close());
  const set = {
    request: { path: '/sms', body: { to: '{{toDigits}}', ref: '{{messageId}}', callback: '{{callbackUrl}}' } },
    answer: { id: '/id' },
    receipts: { ids: ['/id', '/ref'], state: '/state', states: { delivered: 'DELIVERED' } },
  };
  const pairs = Object.entries(set).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const plain = [`baseUrl=${carrier.url}`, 'submitTimeoutSeconds=1', 'throttlePauseMs=50'];
  const add = ['connection', 'add', 'http', '--name', 'faulty', '--set', ...plain, ...pairs];
  expect(await runOperatorCommand(downstream, ...add)).toMatchObject({ code: 0 });
  const route = ['route', 'add', '--channel', 'SMS', '--connection', 'faulty', '--prefix', '39347'];
  expect(await runOperatorCommand(downstream, ...route)).toMatchObject({ code: 0 });

  const numbers = ['0', '1', '2', '3', '4'].map((n) => `+39347123456${n}`);
  const sent = await Promise.all(
    numbers.map((phoneNumber) => downstream.client.send({ phoneNumber, message: 'Hello' })),
  );
  for (const { messageId } of sent) await downstream.client.untilStatus(messageId ?? '', 'DELIVERED');
  expect(Object.fromEntries(attempts)).toEqual({
    '393471234560': 1,
    '393471234561': 1,
    '393471234562': 3,
    '393471234563': 1,
    '393471234564': 1,
  });
});

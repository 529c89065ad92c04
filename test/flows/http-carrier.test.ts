import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listInboundMessages } from '../../src/messaging/inbound/sql.ts';
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

/** An HTTPS address of the downstream gateway. It passes each callback on twice, and answers with the last status. */
async function startFront() {
  const server = createServer({ cert: TEST_CERT, key: TEST_KEY }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', async () => {
      const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
        name.startsWith('webhook-') || name === 'content-type' ? [[name, String(value)]] : [],
      );
      const pass = () =>
        fetch(`${downstream.origin()}${request.url}`, { method: 'POST', headers, body: Buffer.concat(chunks) });
      const [first, second] = [await pass(), await pass()];
      response.writeHead(Math.max(first.status, second.status)).end();
    });
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

test('a test of the connection shows a request and an answer, without the key', async () => {
  const { code, answer } = await runOperatorCommand(downstream, 'connection', 'test', 'upstream');
  expect(code).toBe(0);
  const { detail } = answer as { detail: string };
  expect(detail).toContain(`POST ${upstream.origin()}/api/message-server/sms/send`);
  expect(detail).toContain('x-api-key: <apiKey>');
  expect(JSON.stringify(answer)).not.toContain(upstream.account.apiKey);
});

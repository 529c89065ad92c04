// The Caddyfile of the guide in front of the program. nginx is in deploy/topology.full.test.ts.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, createClient, SEND } from '../../test/support/client.ts';
import { type Caddy, caddyIsMissing, startCaddy } from '../../test/support/deployment/caddy.ts';
import { stepsOf } from '../../test/support/doc-blocks.ts';
import { makeMp4 } from '../../test/support/files/mp4.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { openEventStream } from '../../test/support/http/event-stream.ts';
import { formOf } from '../../test/support/http/form.ts';
import { OWN_PAGES, SESSION, SESSIONS } from '../../test/support/http/session-stage.ts';
import { runOperatorCommand } from '../../test/support/operator.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';

const PG = '/api/partner-gateway/v1';
const missing = caddyIsMissing();

async function readCaddyfile(): Promise<string> {
  const steps = stepsOf(await readFile(join(import.meta.dirname, 'behind-a-proxy.md'), 'utf8'));
  const file = steps.find((step) => step.kind === 'file' && step.path.endsWith('Caddyfile'));
  if (file === undefined) throw new Error('The guide has no Caddyfile.');
  return file.text;
}

describe.skipIf(missing !== undefined)('Caddy with the Caddyfile of the guide', () => {
  const closing = new AsyncDisposableStack();
  let program: TestProgram;
  let caddy: Caddy;
  let client: Client;

  beforeAll(async () => {
    const trusted = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...trusted, TEST_CERT]);
    closing.defer(async () => tls.setDefaultCACertificates(trusted));
    const environment = { TRUST_PROXY: '127.0.0.1', PUBLIC_URL: 'https://gateway.example.com' };
    program = closing.use(await startTestProgram({ environment }));
    caddy = closing.use(await startCaddy(await readCaddyfile(), program.origin()));
    client = createClient(() => caddy.origin, program.account.apiKey);
  });
  afterAll(() => closing.disposeAsync());

  test('a message is sent through the proxy, and the program sees HTTPS', async () => {
    const { messageId } = await client.send({ phoneNumber: '+393331234567', message: 'Your code is 1' });
    await client.untilStatus(messageId ?? '', 'DELIVERED');
    const answer = await client.request('GET', `${PG}/media`);
    expect([answer.status, answer.headers.get('strict-transport-security')]).toEqual([200, expect.any(String)]);
  });

  test('plain HTTP is redirected', async () => {
    const { status, headers } = await fetch(`${caddy.plainOrigin}/docs?a=1`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, 'https://localhost/docs?a=1']);
  });

  test.each(['/metrics', '/metrics/', '/METRICS', '/health/ready', '/health/live', '//metrics', '/%6detrics'])(
    '%s is not for the public',
    async (path) => {
      // Caddy's own response: the program would send its page, or an error with a body.
      expect(await client.request('GET', path)).toMatchObject({ status: 404, body: '' });
    },
  );

  test('the program sees the address of the client, and not what the client says about it', async () => {
    const { username, password } = program.account;
    const request = https.request(`${caddy.origin}${SESSION}`, {
      method: 'POST',
      localAddress: '127.0.0.2',
      headers: { ...OWN_PAGES, 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.7' },
    });
    request.end(JSON.stringify({ username, password }));
    const [answer] = await once(request, 'response');
    expect(answer.statusCode, await text(answer)).toBe(200);
    const cookie = answer.headers['set-cookie'][0].split(';')[0];
    const { body } = await client.request('GET', SESSIONS, { headers: { ...OWN_PAGES, 'x-api-key': '', cookie } });
    expect(body).toMatchObject({ data: [{ address: '127.0.0.2' }] });
  });

  test('one request asks for a thousand messages by their ids', async () => {
    const destinations = Array.from({ length: 1000 }, (_, n) => `+3933402${String(n).padStart(4, '0')}`);
    const { results } = await client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
    expect(await client.statuses(results.flatMap(({ id }) => id ?? []))).toHaveLength(1000);
  });

  test('a video of 3 MB is uploaded', async () => {
    const content = Uint8Array.from(makeMp4({ data: Buffer.alloc(3 * 1024 * 1024, 1) }));
    const answer = await client.request('POST', `${PG}/media`, await formOf({ name: 'a.mp4', content }));
    expect(answer).toMatchObject({ status: 201 });
  });

  test('a body that is too large gets 413 from the program', async () => {
    const body = { phoneNumber: '+393331234567', message: 'a'.repeat(8 * 1024 * 1024) };
    expect(await client.request('POST', SEND, { body })).toMatchObject({ status: 413, body: { status: 413 } });
  });

  test('an event of the inbox arrives while its stream stays open', async () => {
    const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
    expect(await runOperatorCommand(program, 'number', 'assign', ...number)).toMatchObject({ code: 0 });
    await using stream = await openEventStream(caddy.origin, program.account.apiKey);
    expect(stream.status).toBe(200);
    await until('the first event', () => stream.received().includes('event: ready'));
    await program.smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Ciao' });
    await until('the message', () => stream.received().includes('event: message'));
  });
});

test.runIf(missing !== undefined)('Caddy in front of the program', ({ skip }) => skip(missing));

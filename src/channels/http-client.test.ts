import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  createHttpClient,
  type HttpAnswer,
  type HttpClientOptions,
  type HttpRequest,
  retryAfterMs,
} from './http-client.ts';

type Listening = { readonly origin: string; readonly close: () => void };

async function listen(server: ReturnType<typeof createTcpServer>): Promise<Listening> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  const { origin } = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return origin;
}

function client(more: Partial<HttpClientOptions> = {}): (request: Partial<HttpRequest>) => Promise<HttpAnswer> {
  const http = createHttpClient({ connections: 2, connectTimeoutMs: 1000, timeoutMs: 5000, ...more });
  onTestFinished(() => http.close());
  return (request) => http.request({ method: 'POST', origin: '', path: '/', headers: {}, ...request });
}

test('a response of any status has its headers and its complete body', async () => {
  const origin = await serve((request, response) => {
    response.writeHead(418, { 'x-kind': 'teapot' });
    request.pipe(response);
  });
  const answer = await client()({ origin, body: 'Olá' });
  expect(answer).toMatchObject({ kind: 'answered', status: 418, headers: { 'x-kind': 'teapot' } });
  expect(answer.kind === 'answered' && answer.body.toString()).toBe('Olá');
});

test('a request says which program sends it, unless the caller does', async () => {
  const agents: unknown[] = [];
  const origin = await serve(({ headers }, response) => {
    agents.push(headers['user-agent']);
    response.end();
  });
  const request = client();
  await request({ origin });
  await request({ origin, headers: { 'user-agent': 'facebookexternalua' } });
  expect(agents).toEqual([expect.stringMatching(/^Heliograph\/\d+\.\d+\.\d+$/), 'facebookexternalua']);
});

test('a redirect is a response and is not followed', async () => {
  const paths: (string | undefined)[] = [];
  const origin = await serve(({ url }, response) => {
    paths.push(url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  expect(await client()({ origin })).toMatchObject({ kind: 'answered', status: 302 });
  expect(paths).toEqual(['/']);
});

test('a server that says Continue unasked is understood, in any pieces, over one connection', async () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\nVia: 1.0 old\r\n\r\n';
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHTTP/1.1 100';
  const pieces = [[CONTINUE + OK], [CONTINUE, OK], [CONTINUE + CONTINUE, OK], Array.from(CONTINUE + OK), [OK]];
  let connections = 0;
  let served = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.setNoDelay(true);
    const answer = async (own: readonly string[]): Promise<void> => {
      for (const piece of own) {
        socket.write(piece, 'latin1');
        await new Promise(setImmediate);
      }
    };
    socket.on('data', () => void answer(pieces[served++] ?? []));
  });
  const { origin } = await listen(server);
  onTestFinished(() => void server.close());
  const request = client({ connections: 1 });
  for (const _ of pieces) {
    const answer = await request({ origin, body: 'x' });
    expect(answer).toMatchObject({ kind: 'answered', status: 200 });
    expect(answer.kind === 'answered' && answer.body.toString()).toBe('HTTP/1.1 100');
  }
  expect([served, connections]).toEqual([pieces.length, 1]);
});

test('nothing counts as written when the port is closed', async () => {
  const server = createTcpServer();
  const { origin } = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  expect(await client()({ origin })).toMatchObject({ kind: 'failed', written: false });
});

test('a connection that is cut after the request counts as written', async () => {
  const origin = await serve((request) => request.socket.destroy());
  expect(await client()({ origin, body: 'x' })).toMatchObject({ kind: 'failed', written: true });
});

test('the deadline covers a body that never ends', async () => {
  const origin = await serve((_, response) => void response.writeHead(200).write('drip'));
  const answer = await client({ timeoutMs: 50 })({ origin });
  expect(answer).toEqual({ kind: 'failed', written: true, reason: 'no response within 0.05 s' });
});

test('a request that waits for a connection until its deadline was not written', async () => {
  const origin = await serve(() => undefined);
  const request = client({ timeoutMs: 100, connections: 1 });
  const [first, second] = await Promise.all([request({ origin }), request({ origin, timeoutMs: 50 })]);
  expect(first).toMatchObject({ kind: 'failed', written: true });
  expect(second).toMatchObject({ kind: 'failed', written: false });
});

test('a response that exceeds the limit fails', async () => {
  const origin = await serve((_, response) => void response.end('x'.repeat(101)));
  expect(await client({ maxBytes: 100 })({ origin })).toMatchObject({ kind: 'failed', written: true });
  expect(await client({ maxBytes: 101 })({ origin })).toMatchObject({ kind: 'answered' });
});

test('closing ends requests in flight', async () => {
  const arrived = Promise.withResolvers<void>();
  const origin = await serve(() => arrived.resolve());
  const http = createHttpClient({ connections: 1, connectTimeoutMs: 1000, timeoutMs: 60_000 });
  const answer = http.request({ method: 'GET', origin, path: '/', headers: {} });
  await arrived.promise;
  await http.close();
  expect(await answer).toMatchObject({ kind: 'failed', written: true });
});

test('connections are reused', async () => {
  const sockets = new Set<unknown>();
  const origin = await serve((request, response) => {
    sockets.add(request.socket);
    response.end();
  });
  const request = client({ connections: 1 });
  await request({ origin });
  await request({ origin });
  expect(sockets.size).toBe(1);
});

test('requests beyond the number of connections are sent in their order, and none is lost', async () => {
  const bodies: string[] = [];
  let open = 0;
  let most = 0;
  const origin = await serve((request, response) => {
    most = Math.max(most, ++open);
    request.on('data', (octets) => bodies.push(String(octets)));
    request.on('end', () => setImmediate(() => response.end(() => open--)));
  });
  const request = client({ connections: 2 });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => request({ origin, body: String(n) })));
  expect(answers.every(({ kind }) => kind === 'answered')).toBe(true);
  expect(bodies.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(most).toBeLessThanOrEqual(2);
});

test('a connection serves the next request after one that timed out, was cut or was too long', async () => {
  const origin = await serve((request, response) => {
    if (request.url === '/cut') request.socket.destroy();
    else if (request.url === '/long') response.end('x'.repeat(1000));
    else if (request.url !== '/silent') response.end('fine');
  });
  const request = client({ connections: 1, maxBytes: 100 });
  for (const path of ['/silent', '/cut', '/long']) {
    expect(await request({ origin, path, timeoutMs: 100 })).toMatchObject({ kind: 'failed', written: true });
    expect(await request({ origin, path: '/fine' })).toMatchObject({ kind: 'answered', status: 200 });
  }
});

test('a request after the client was closed fails, and was not written', async () => {
  const http = createHttpClient({ connections: 1, connectTimeoutMs: 1000, timeoutMs: 1000 });
  await http.close();
  const answer = await http.request({ method: 'GET', origin: 'http://127.0.0.1:9', path: '/', headers: {} });
  expect(answer).toMatchObject({ kind: 'failed', written: false });
});

test.each([
  ['7', 7000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9000],
  ['Thu, 01 Jan 2020 00:00:00 GMT', 0],
  ['99999999', 3_600_000],
  ['soon', 0],
])('Retry-After %s asks for %d ms', (header, ms) => {
  expect(retryAfterMs({ 'retry-after': header }, Date.UTC(2026, 0, 1))).toBe(ms);
});

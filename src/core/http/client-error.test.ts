import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening, sendRaw } from '../../../test/support/http/listen.ts';
import { createServer } from './server.ts';

function testServer() {
  const app = createServer(apiDeps());
  app.get('/', () => ({ ok: true }));
  app.post('/', { bodyLimit: 1000 }, () => ({ ok: true }));
  return app;
}

/** Parses status, headers and body of the first response in the bytes from the wire. */
function parse(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  return {
    status: Number(head.split(' ')[1]),
    requestId: /^x-request-id: (.+)$/im.exec(head)?.[1],
    cacheControl: /^cache-control: (.+)$/im.exec(head)?.[1],
    body: JSON.parse(body) as unknown,
  };
}

test.each([
  ['what is not HTTP', 'hello\r\n\r\n', 400],
  ['a line break inside a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', 400],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
  [
    'a length next to chunks',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
  ],
  ['headers of a megabyte', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`, 431],
  ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
])('%s gets a response in the one shape, with a request id', async (_what, bytes, status) => {
  await using server = await listening(testServer());
  const answer = parse(await sendRaw(server.port, bytes));
  expect(answer.status).toBe(status);
  expect(answer.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.cacheControl).toBe('no-store');
  expect(answer.body).toMatchObject({ status, requestId: answer.requestId, message: expect.any(String) });
});

test('an unknown Expect header is ignored', async () => {
  await using server = await listening(testServer());
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nConnection: close\r\n\r\n';
  expect(parse(await sendRaw(server.port, request))).toMatchObject({ status: 200, body: { ok: true } });
});

test('HTTP/1.0 needs no Host', async () => {
  await using server = await listening(testServer());
  expect(parse(await sendRaw(server.port, 'GET / HTTP/1.0\r\n\r\n')).status).toBe(200);
});

test('a request of 100 KB of URL is read: a batch names a thousand ids', async () => {
  await using server = await listening(testServer());
  expect((await fetch(`${server.url}/?ids=${'x'.repeat(100_000)}`)).status).toBe(200);
});

test('a client that sends far too much gets 413, and its connection stays open', async () => {
  await using server = await listening(testServer());
  const body = 'x'.repeat(8 * 1024 * 1024);
  for (let i = 0; i < 5; i += 1) {
    const answer = await fetch(server.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ status: 413 });
    expect(answer.headers.get('connection')).not.toBe('close');
  }
});

test('a body that grows too large while it arrives in chunks is a 413', async () => {
  await using server = await listening(testServer());
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  const answer = await sendRaw(server.port, `${head}${chunk.repeat(100)}0\r\n\r\n`);
  expect(parse(answer).status).toBe(413);
});

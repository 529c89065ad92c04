import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { openRequest } from '../../../test/support/http/open-request.ts';
import { createServer } from './server.ts';

const CHUNKED = 'Host: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const spaces = (count: number): string => chunk(' ').repeat(count);
const END = '0\r\n\r\n';

async function startServer() {
  const deps = apiDeps();
  const app = createServer(deps);
  app.post('/', ({ body }) => ({ body }));
  app.post('/refuses', { onRequest: (_request, reply) => void reply.code(403).send({ refused: true }) }, () => ({}));
  app.get('/', () => ({ calm: true }));
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const post = async (path: string, body: string) => {
    const request = await openRequest(server.port, `POST ${path} HTTP/1.1\r\n${CHUNKED}${body}`);
    onTestFinished(() => request.destroy());
    return request;
  };
  return { post, metrics: () => deps.metrics.registry.metrics() };
}

test('a body of many chunks of one byte is 413, and its connection is closed', async () => {
  const { post, metrics } = await startServer();
  const request = await post('/', spaces(100_000));
  expect(await request.end()).toMatch(/^HTTP\/1.1 413 [^]*too many small chunks/);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="chunks"} 1');
});

test.each([
  ['a thousand of one byte', spaces(1000) + chunk('{"a":1}') + END],
  ['ten thousand of a hundred bytes', chunk(' '.repeat(100)).repeat(10_000) + chunk('{"a":1}') + END],
])('a body in chunks, %s, is read', async (_what, body) => {
  const { post } = await startServer();
  const request = await post('/', `${body}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(await request.end()).toMatch(/^HTTP\/1.1 200 [^]*\{"body":\{"a":1\}\}HTTP\/1.1 200 [^]*\{"calm":true\}$/);
});

test('the rest of a chunked body that already has a response is not parsed, and its connection is closed', async () => {
  const { post } = await startServer();
  const request = await post('/refuses', spaces(10));
  request.send(`${spaces(100_000)}${END}GET / HTTP/1.1\r\nHost: a\r\n\r\n`);
  const answers = await request.end();
  expect(answers).toMatch(/^HTTP\/1.1 403 /);
  expect(answers).not.toContain('calm');
});

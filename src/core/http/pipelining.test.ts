import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { openRequest } from '../../../test/support/http/open-request.ts';
import { createServer } from './server.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const last = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

/** A server whose responses wait for `release`, and that counts the requests in progress. */
async function gatedServer() {
  const app = createServer(apiDeps());
  const gate = Promise.withResolvers<void>();
  const began: string[] = [];
  let [atWork, most] = [0, 0];
  app.get('/gated/:n', async ({ url }) => {
    began.push(url);
    most = Math.max(most, ++atWork);
    await gate.promise;
    atWork--;
    return { url };
  });
  app.get('/free', () => ({ free: true }));
  app.post('/echo', ({ body }) => ({ body }));
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());
  let parsed = 0;
  app.server.on('request', () => parsed++);
  return { port: server.port, release: gate.resolve, began, most: () => most, parsed: () => parsed };
}

test('one request of a connection is at work at a time, and all get a response in their order', async () => {
  const { port, release, began, most } = await gatedServer();
  const urls = Array.from({ length: 50 }, (_, n) => `/gated/${n}`);
  const client = await openRequest(port, urls.slice(0, -1).map(get).join('') + last(urls.at(-1) ?? ''));
  const other = await openRequest(port, last('/free'));
  expect(await other.status()).toBe(200);
  expect(began).toEqual(['/gated/0']);
  release();
  const answers = await client.end();
  expect([...answers.matchAll(/"url":"([^"]+)"/g)].map(([, url]) => url)).toEqual(urls);
  expect(most()).toBe(1);
});

test('a flood of pipelined requests closes its connection, and after three the address for a minute', async () => {
  const { port, release, parsed } = await gatedServer();
  release();
  for (let n = 1; n <= 3; n++) {
    const flood = await openRequest(port, get('/free').repeat(100_000));
    await flood.end();
  }
  expect(parsed()).toBeLessThan(10_000);
  const barred = await openRequest(port, last('/free')).then(
    (client) => client.end(),
    () => '',
  );
  expect(barred).toBe('');
});

test('many connections with waiting requests do not delay the first request of another one', async () => {
  const { port, release } = await gatedServer();
  const floods = await Promise.all(
    Array.from({ length: 20 }, () => openRequest(port, get('/gated/0') + get('/free').repeat(50) + last('/gated/end'))),
  );
  release();
  const other = await openRequest(port, last('/free'));
  await other.status();
  const ended = floods.filter((flood) => flood.isClosed()).length;
  expect(ended).toBe(0);
  const answers = await Promise.all(floods.map((flood) => flood.end()));
  expect(answers.map((text) => text.split('"free":true').length - 1)).toEqual(Array(20).fill(50));
});

test('a body behind a waiting request is read when its turn comes', async () => {
  const { port, release } = await gatedServer();
  const body = JSON.stringify({ text: 'x'.repeat(300_000) });
  const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n';
  const client = await openRequest(port, `${get('/gated/0')}${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  release();
  expect(await client.end()).toContain(body);
});

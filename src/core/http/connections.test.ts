import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { type OpenRequest, openRequest } from '../../../test/support/http/open-request.ts';
import { until } from '../../../test/support/until.ts';
import { loadConfig } from '../config.ts';
import { createServer } from './server.ts';

/** A server with few connections, and a function that opens them from an address of this machine. */
async function smallServer(settings: Record<string, string>) {
  const deps = apiDeps({ config: loadConfig(settings) });
  const app = createServer(deps);
  for (const path of ['/', '/health/live']) app.get(path, ({ ip }) => ({ ip }));
  const server = await listening(app);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const open = async (from: string): Promise<OpenRequest> => {
    const request = await openRequest(server.port, '', from);
    onTestFinished(() => request.destroy());
    return request;
  };
  const openMany = (count: number, from: string) => Promise.all(Array.from({ length: count }, () => open(from)));
  return { ...server, open, openMany, metrics: () => deps.metrics.registry.metrics() };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const countOpen = (requests: readonly OpenRequest[]): number => requests.filter((each) => !each.isClosed()).length;

test('an address holds at most its part of the connections, and another address is served meanwhile', async () => {
  const { open, openMany, metrics } = await smallServer({ MAX_CONNECTIONS: '100', MAX_CONNECTIONS_PER_ADDRESS: '5' });
  const many = await openMany(30, '127.0.0.2');
  await until('25 closed', () => countOpen(many) === 5);
  const other = await open('127.0.0.3');
  other.send(GET);
  expect(await other.status()).toBe(200);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="connections_of_address"} 25');
});

test('an address that keeps idle connections loses the one idle for longest to each new one, never a busy one', async () => {
  const { open, openMany, metrics } = await smallServer({ MAX_CONNECTIONS_PER_ADDRESS: '5' });
  const kept = await openMany(5, '127.0.0.2');
  for (const each of kept.slice(1)) {
    each.send(GET);
    expect(await each.status()).toBe(200);
  }
  // The first has sent half a request.
  kept[0]?.send(GET.slice(0, 10));
  for (const closed of [1, 2]) {
    const next = await open('127.0.0.2');
    next.send(GET);
    expect(await next.status()).toBe(200);
    await until('it is closed', () => kept[closed]?.isClosed() === true);
  }
  expect(kept.map((each) => each.isClosed())).toEqual([false, true, true, false, false]);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="connections_of_address"} 2');
});

test('an address whose connections are all busy is still asked for its health, and for nothing else', async () => {
  const { open, openMany, metrics } = await smallServer({ MAX_CONNECTIONS_PER_ADDRESS: '5' });
  const busy = await openMany(5, '127.0.0.2');
  for (const each of busy) each.send(GET.slice(0, 10));
  const health = GET.replace('/', '/health/live');
  for (let n = 0; n < 10; n++) {
    const probe = await open('127.0.0.2');
    // Of two requests at once, only the first gets a response.
    probe.send(health + GET);
    expect((await probe.end()).match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 200']);
  }
  const other = await open('127.0.0.2');
  other.send(GET);
  await until('it is closed', () => other.isClosed());
  await expect(other.status()).rejects.toThrow();
  const silent = await openMany(4, '127.0.0.2');
  await until('all are closed', () => countOpen(silent) === 0);
  expect(countOpen(busy)).toBe(5);
  expect(await metrics()).toContain('heliograph_http_refused_total{bound="connections_of_address"} 5');
});

test('a connection that is closed makes room for another one of its address', async () => {
  const { open, openMany } = await smallServer({ MAX_CONNECTIONS_PER_ADDRESS: '5' });
  const [first] = await openMany(5, '127.0.0.2');
  first?.destroy();
  await until('a place', async () => {
    const next = await open('127.0.0.2');
    next.send(GET);
    return next.status().catch(() => false);
  });
});

test('when all connections are taken, the address that holds the most gives one up for each newcomer', async () => {
  const { open, openMany } = await smallServer({ MAX_CONNECTIONS: '20', MAX_CONNECTIONS_PER_ADDRESS: '15' });
  const heavy = await openMany(15, '127.0.0.2');
  const light = await openMany(5, '127.0.0.3');
  const newcomers = await Promise.all(['127.0.0.4', '127.0.0.5', '127.0.0.6'].map((from) => open(from)));
  for (const newcomer of newcomers) newcomer.send(GET);
  expect(await Promise.all(newcomers.map((each) => each.status()))).toEqual([200, 200, 200]);
  await until('three closed', () => countOpen(heavy) === 12);
  expect(countOpen(light)).toBe(5);
});

test('connections of a trusted proxy are not bounded by its address, since they carry many clients', async () => {
  const { openMany } = await smallServer({ MAX_CONNECTIONS_PER_ADDRESS: '5', TRUST_PROXY: '127.0.0.2' });
  const proxied = await openMany(30, '127.0.0.2');
  for (const each of proxied) each.send(GET.replace('\r\n\r\n', '\r\nX-Forwarded-Proto: https\r\n\r\n'));
  expect(new Set(await Promise.all(proxied.map((each) => each.status())))).toEqual(new Set([200]));
});

test('a request with two Host headers is refused', async () => {
  const { open } = await smallServer({});
  const request = await open('127.0.0.1');
  request.send('GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n');
  expect(await request.status()).toBe(400);
});

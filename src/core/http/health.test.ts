import { expect, test, vi } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening, sendRaw } from '../../../test/support/http/listen.ts';
import { healthRoutes, type Probe } from './health.ts';
import { describeApi } from './openapi.ts';
import { createServer } from './server.ts';

function healthServer(...probes: Probe[]) {
  const deps = apiDeps({ probes });
  const app = createServer(deps);
  describeApi(app);
  healthRoutes(app, deps);
  return app;
}

const probe = (name: string, ok: boolean, critical = true): Probe => ({
  name,
  critical,
  check: async () => ({ ok, detail: `${name} says so` }),
});

test('a running process is live, whatever its probes report', async () => {
  const answer = await healthServer(probe('database', false)).inject('/health/live');
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
});

test('ready is 200 while every probe succeeds, with the detail of each', async () => {
  const answer = await healthServer(probe('database', true), probe('disk', true)).inject('/health/ready');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    status: 'ok',
    checks: { database: { ok: true, detail: 'database says so' }, disk: { ok: true, detail: 'disk says so' } },
  });
});

test('ready is 503 when a probe fails, and when one throws, without the text of the error', async () => {
  const broken: Probe = { name: 'disk', critical: true, check: () => Promise.reject(new Error('secret address')) };
  const answer = await healthServer(probe('database', true), broken).inject('/health/ready');
  expect(answer.statusCode).toBe(503);
  expect(answer.json()).toMatchObject({ status: 'unavailable', checks: { disk: { ok: false, detail: 'failed' } } });
  expect((await healthServer(probe('database', false)).inject('/health/ready')).statusCode).toBe(503);
});

test('a failed probe that is not critical is reported, and requests are served', async () => {
  const answer = await healthServer(probe('database', true), probe('carriers', false, false)).inject('/health/ready');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({ status: 'degraded', checks: { carriers: { ok: false } } });
});

test('a probe that never responds counts as failed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const asked = Promise.withResolvers<void>();
    const hung: Probe = { name: 'database', critical: true, check: () => (asked.resolve(), new Promise(() => {})) };
    const answer = healthServer(hung)
      .inject('/health/ready')
      .then((response) => response);
    await asked.promise;
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await answer).json()).toMatchObject({ checks: { database: { ok: false, detail: 'no response in time' } } });
  } finally {
    vi.useRealTimers();
  }
});

test('a hundred concurrent requests cost one check', async () => {
  const { promise, resolve } = Promise.withResolvers<{ ok: boolean; detail: string }>();
  const check = vi.fn(() => promise);
  const app = healthServer({ name: 'database', critical: true, check });
  await app.ready();
  const answers = Array.from({ length: 100 }, () => app.inject('/health/ready'));
  await expect.poll(() => check.mock.calls.length).toBe(1);
  resolve({ ok: true, detail: 'up' });
  expect((await Promise.all(answers)).every((answer) => answer.statusCode === 200)).toBe(true);
  expect(check).toHaveBeenCalledTimes(1);
  // The response is shared a moment longer, and then made again.
  await expect.poll(() => app.inject('/health/ready').then(() => check.mock.calls.length)).toBe(2);
});

test('metrics are in the Prometheus format', async () => {
  const app = healthServer();
  await app.inject('/health/live');
  const answer = await app.inject('/metrics');
  expect(answer.headers['content-type']).toContain('text/plain');
  expect(answer.body).toContain('# TYPE heliograph_http_request_duration_seconds histogram');
  expect(answer.body).toContain('route="/health/live",status="200"} 1');
});

test.each(['/metrics', '/health/live', '/health/ready'])(
  '%s has one spelling, for proxies that compare it',
  async (path) => {
    await using server = await listening(healthServer());
    // Uses a socket: clients, and `inject`, normalise a URL before they send it.
    const statusOf = async (url: string) => {
      const answer = await sendRaw(server.port, `GET ${url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      return Number(answer.split(' ')[1]);
    };
    expect([await statusOf(path), await statusOf(`${path}?a=1`)]).toEqual([200, 200]);
    const others = [
      `${path}/`,
      `/${path}`,
      path.toUpperCase(),
      path.replace('e', '%65'),
      path.replace(/\/(\w)/, (_, first: string) => `/%${first.charCodeAt(0).toString(16)}`),
      `/x/..${path}`,
      `${path}%3f`,
      `${path};a`,
      `${path}#a`,
    ];
    for (const url of others) expect([url, await statusOf(url)]).toEqual([url, 404]);
  },
);

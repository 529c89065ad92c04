import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { AppError } from '../errors.ts';
import { createLog } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { createServer } from './server.ts';

/** A server whose log lines are kept, with a route that holds an id and one that fails. */
function watched(level: 'debug' | 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = createLog(level, { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const app = createServer(apiDeps({ log, metrics }));
  app.get('/numbers/:number', () => ({}));
  app.get('/boom', () => {
    throw new Error('inner words');
  });
  return { app, lines, metrics };
}

test('a line has the route pattern, both request ids and the time, and nothing of the URL or the headers', async () => {
  const { app, lines } = watched('debug');
  const headers = { 'x-request-id': 'client-1', 'x-api-key': 'pg_live_abc', authorization: 'Basic abc' };
  const answer = await app.inject({ url: '/numbers/393511234512?key=secret', headers });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    requestId: answer.headers['x-request-id'],
    clientRequestId: 'client-1',
    method: 'GET',
    route: '/numbers/:number',
    status: 200,
    ms: expect.any(Number),
  });
  expect(JSON.stringify(lines)).not.toMatch(/3935|secret|pg_live|Basic/);
});

test('successful requests are not logged at info', async () => {
  const { app, lines } = watched('info');
  await app.inject('/numbers/1');
  expect(lines).toHaveLength(0);
});

test('a client id that is too long or contains line breaks is left out', async () => {
  const { app, lines } = watched('debug');
  for (const id of ['x'.repeat(129), 'a\r\nb', 'a b'])
    await app.inject({ url: '/numbers/1', headers: { 'x-request-id': id } });
  expect(lines.map((line) => line['clientRequestId'])).toEqual([undefined, undefined, undefined]);
});

test('a 500 is logged as an error with its cause, and counted', async () => {
  const { app, lines, metrics } = watched('info');
  const answer = await app.inject('/boom');
  expect(lines[0]).toMatchObject({
    level: 'error',
    requestId: answer.headers['x-request-id'],
    route: '/boom',
    err: { message: 'inner words', stack: expect.stringContaining('request-log.test') },
  });
  expect(await metrics.registry.metrics()).toContain(
    'request_duration_seconds_count{method="GET",route="/boom",status="500"} 1',
  );
});

test('unknown paths share one time series', async () => {
  const { app, metrics } = watched('info');
  for (const path of ['/a', '/b', '/c?d']) await app.inject(path);
  expect(await metrics.registry.metrics()).toContain(
    'request_duration_seconds_count{method="GET",route="none",status="404"} 3',
  );
});

test('a rejection because of our limits is not an error with a stack, with which unauthenticated clients could fill the log', async () => {
  const { app, lines } = watched('info');
  app.get('/full', () => {
    throw new AppError('unavailable', { retryAfterSeconds: 5 });
  });
  expect((await app.inject('/full')).statusCode).toBe(503);
  expect(lines).toMatchObject([{ level: 'info', status: 503, msg: 'request' }]);
});

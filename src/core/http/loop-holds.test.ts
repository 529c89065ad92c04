import { setImmediate as nextTurn } from 'node:timers/promises';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { apiDeps } from '../../../test/support/http/api.ts';
import { one, sql } from '../db/query.ts';
import { createLog } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { createServer } from './server.ts';
import { observeLoopHolds } from './turns.ts';

const { pool } = testDatabase();

const HELD_MS = 80;
/** Much longer than a short stretch takes on a busy machine. */
const OTHERS_MS = 500;
function holdLoop(ms = HELD_MS): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
const heldWhenRead = (): object => ({
  toJSON() {
    holdLoop();
    return {};
  },
});

function watched(reportEveryMs?: number) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const app = createServer(apiDeps({ metrics }));
  observeLoopHolds(app, { log, metrics }, reportEveryMs);
  async function longest(): Promise<Record<string, number>> {
    const text = await metrics.registry.getSingleMetricAsString('heliograph_event_loop_hold_seconds');
    const found = text.matchAll(/\{method="(\w+)",route="([^"]+)"\} (\S+)/g);
    return Object.fromEntries([...found].map(([, method, route, seconds]) => [`${method} ${route}`, Number(seconds)]));
  }
  return { app, lines, longest };
}

test('each way of holding the loop counts for the route that does it', async () => {
  const { app, longest } = watched();
  app.get('/handler', () => {
    holdLoop();
    return {};
  });
  app.get('/after-query', async () => {
    const row = await one<{ n: number }>(pool, sql`SELECT 1 AS n`);
    holdLoop();
    return row;
  });
  app.get('/answer', () => heldWhenRead());
  app.get('/late-answer', async () => {
    await nextTurn();
    return heldWhenRead();
  });
  app.post('/body', { schema: { body: Type.Object({}) } }, () => ({}));
  app.addContentTypeParser('text/slow', { parseAs: 'string' }, (_request, _text, done) => {
    holdLoop();
    done(null, {});
  });
  app.get('/innocent', async () => {
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        // Work of others, in the callback before ours.
        holdLoop(OTHERS_MS);
        setImmediate(resolve);
      });
    });
    return {};
  });
  await app.inject('/innocent');
  for (const url of ['/handler', '/after-query', '/answer', '/late-answer']) await app.inject(url);
  await app.inject({ method: 'POST', url: '/body', headers: { 'content-type': 'text/slow' }, payload: 'x' });
  await nextTurn();
  const holds = await longest();
  for (const route of ['GET /handler', 'GET /after-query', 'GET /answer', 'GET /late-answer', 'POST /body'])
    expect([route, holds[route]]).toEqual([route, expect.toSatisfy((seconds: number) => seconds >= HELD_MS / 1000)]);
  expect(holds['GET /innocent']).toBeLessThan(OTHERS_MS / 1000);
});

test('a scrape shows the time since the one before', async () => {
  const { app, longest } = watched();
  app.get('/handler', () => ({}));
  await app.inject('/handler');
  await nextTurn();
  expect(Object.keys(await longest())).toEqual(['GET /handler']);
  expect(await longest()).toEqual({});
});

test('the log names the first long hold at once, and after that the worst one of each interval', async () => {
  const { app, lines } = watched(3000);
  app.get('/:ms', (request) => {
    holdLoop(Number((request.params as { ms: string }).ms));
    return {};
  });
  app.get('/worse/:ms', (request) => {
    holdLoop(Number((request.params as { ms: string }).ms));
    return {};
  });
  await app.inject('/60');
  await nextTurn();
  expect(lines).toMatchObject([{ route: 'GET /:ms', ms: expect.any(Number) }]);
  await app.inject('/60');
  await app.inject('/worse/500');
  await app.inject('/60');
  await nextTurn();
  expect(lines).toHaveLength(1);
  await expect.poll(() => lines.length).toBe(2);
  expect(lines[1]).toMatchObject({ level: 'warn', route: 'GET /worse/:ms' });
});

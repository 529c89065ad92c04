import { randomBytes } from 'node:crypto';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { loadConfig } from '../core/config.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { createSecretKey } from '../core/secrets.ts';
import { systemClock } from '../core/time.ts';
import { createConnection } from '../routing/connections.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from '../sandbox/http-server.ts';
import { createCallbackStore, type StoreCallback } from './callbacks.ts';
import { NO_ACCOUNT_ID } from './inbound.ts';
import { listInboundMessages } from './inbound-store.ts';
import { pollConnections } from './polling.ts';
import { deleteReceiptBatches } from './receipt-store.ts';

const { pool } = testDatabase();
const secretKey = createSecretKey(randomBytes(32));
const config = loadConfig({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' });
const nothing = (): Promise<void> => Promise.resolve();
const store = createCallbackStore({
  metrics: createMetrics(),
  pool,
  clock: systemClock,
  log: silentLog,
  onInbound: nothing,
  onTemplatesChange: nothing,
});

beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE connection, connection_poll, receipt_batch, receipt_unmatched, inbound_message, inbound_seen CASCADE`,
  ),
);

/**
 * A carrier with events in its order, of which it shows two from the cursor on and forgets those that are confirmed.
 */
type Feed = { readonly requests: SandboxRequest[]; readonly events: object[]; answer: SandboxAnswer | null };

async function startFeed(events: object[]): Promise<Feed> {
  const feed: Feed = { requests: [], events, answer: null };
  const server = await startServer({
    maxBytes: 1000,
    handle(request) {
      feed.requests.push(request);
      if (feed.answer !== null) return feed.answer;
      if (request.method === 'DELETE') return { status: 204, body: '' };
      const since = Number(request.query.get('since'));
      const page = feed.events.slice(since, since + 2);
      return { status: 200, body: { events: page, next: since + page.length } };
    },
  });
  onTestFinished(server.close);
  const when = (kind: string) => ({ list: '/events', when: { at: '/kind', is: [kind] } });
  await createConnection(pool, secretKey, {
    name: 'feed',
    kind: 'http',
    sandbox: false,
    settings: {
      baseUrl: server.url,
      request: { path: '/sms', auth: 'bearer', body: { to: '{{to}}' } },
      receipts: { ...when('dlr'), ids: ['/id'], state: '/state', states: { ok: 'DELIVERED' } },
      inbound: { ...when('mo'), id: '/id', from: '/from', to: '/to', text: '/text', at: '/at' },
      poll: { path: '/events?since={{cursor}}', cursor: '/next', start: '0', confirm: '/events?until={{cursor}}' },
    },
    secret: { apiKey: 'the-key', callbackToken: 'our-callback-token' },
  });
  return feed;
}

const receipt = (id: string) => ({ kind: 'dlr', id, state: 'ok' });
const message = (id: string, more: object = {}) => ({ kind: 'mo', id, from: '+39333', to: '4400', text: id, ...more });
const poll = (storeCallback: StoreCallback = store): Promise<boolean> =>
  pollConnections({ pool, config, secretKey, storeCallback, log: silentLog });
/** Makes all polls due, as if the pause were over, or the worker had died long ago. */
const passTime = (): Promise<unknown> => exec(pool, sql`UPDATE connection_poll SET due_at = now()`);
const cursorOf = async (): Promise<string | null | undefined> =>
  (await many<{ cursor: string | null }>(pool, sql`SELECT cursor FROM connection_poll`))[0]?.cursor;
const bodies = async (): Promise<string[]> =>
  (await listInboundMessages(pool, { accountId: NO_ACCOUNT_ID, limit: 100 })).map(({ body }) => body).toSorted();

async function receipts(): Promise<string[]> {
  const inbox = await deleteReceiptBatches(pool, 1000);
  const parked = await many<{ receipt: { carrierIds: string[] } }>(
    pool,
    sql`DELETE FROM receipt_unmatched RETURNING receipt`,
  );
  return [...inbox.flatMap((batch) => batch.receipts), ...parked.map((row) => row.receipt)]
    .flatMap(({ carrierIds }) => carrierIds)
    .toSorted();
}

test('all events are fetched in turn, each once, and confirmed when they are committed', async () => {
  const feed = await startFeed([receipt('a'), message('b'), receipt('c'), message('d'), receipt('e')]);
  expect(await poll()).toBe(true);
  expect(await receipts()).toEqual(['a', 'c', 'e']);
  expect(await bodies()).toEqual(['b', 'd']);
  const asked = feed.requests.map(({ method, query }) => `${method} ${query}`);
  expect(asked).toEqual([
    'GET since=0',
    'DELETE until=2',
    'GET since=2',
    'DELETE until=4',
    'GET since=4',
    'DELETE until=5',
    'GET since=5',
  ]);
  expect(feed.requests.every(({ headers }) => headers.authorization === 'Bearer the-key')).toBe(true);
  feed.events.push(receipt('f'));
  await poll();
  expect(feed.requests).toHaveLength(7);
  await passTime();
  await poll();
  expect(await receipts()).toEqual(['f']);
});

test('of workers that poll at the same time one fetches', async () => {
  const feed = await startFeed([]);
  await Promise.all([poll(), poll(), poll()]);
  expect(feed.requests).toHaveLength(1);
});

test('what could not be committed is not confirmed, and is fetched again from the same place', async () => {
  const feed = await startFeed([receipt('a'), message('b')]);
  await poll(() => Promise.reject(new Error('the database is unreachable')));
  expect(feed.requests.map(({ method }) => method)).toEqual(['GET']);
  await poll();
  expect(feed.requests).toHaveLength(1);
  await passTime();
  await poll();
  expect([await receipts(), await bodies()]).toEqual([['a'], ['b']]);
});

test('a message that is fetched twice, because a worker died after the commit, counts once', async () => {
  const feed = await startFeed([message('a'), message('b')]);
  await poll(async (...stored) => {
    await store(...stored);
    throw new Error('the worker dies');
  });
  expect(await cursorOf()).toBeNull();
  await passTime();
  await poll();
  expect(feed.requests.filter(({ method }) => method === 'GET').length).toBeGreaterThan(1);
  expect(await bodies()).toEqual(['a', 'b']);
});

test('a worker that was away too long does not move the cursor back', async () => {
  const feed = await startFeed([message('a'), message('b')]);
  await poll(async (...stored) => {
    await passTime();
    await poll();
    feed.events.push(message('c'));
    await store(...stored);
  });
  expect(await cursorOf()).toBe('2');
  await passTime();
  await poll();
  expect(await bodies()).toEqual(['a', 'b', 'c']);
});

test('a message that waited at the carrier for weeks is stored', async () => {
  await startFeed([message('old', { at: new Date(Date.now() - 30 * 24 * 3_600_000).toISOString() })]);
  await poll();
  expect(await bodies()).toEqual(['old']);
});

test.each([
  ['an error', { status: 503, body: 'Service Unavailable' }],
  ['a cut connection', 'cut'],
] as const)('%s leaves the cursor where it was until the next attempt', async (_, answer) => {
  const feed = await startFeed([receipt('a')]);
  feed.answer = answer;
  await poll();
  expect(await cursorOf()).toBeNull();
  feed.answer = null;
  await passTime();
  await poll();
  expect(await receipts()).toEqual(['a']);
});

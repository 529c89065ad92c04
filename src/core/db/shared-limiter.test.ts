import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { until } from '../../../test/support/until.ts';
import { silentLog } from '../log.ts';
import type { Db } from './query.ts';
import { createSharedLimiter, type SharedLimiter } from './shared-limiter.ts';
import { openWorkerSession } from './worker-session.ts';

const database = testDatabase();

const RATE = { perMinute: 5000, perSecond: 5000 };
const CHANNEL = 'heliograph_requests';

/** A process: its own counts, and the notifications that it receives. */
async function startProcess(db: Db = database.pool) {
  const limiter = createSharedLimiter({ db, log: silentLog, channel: CHANNEL, publishEveryMs: 5 });
  const { connectionString } = database;
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({ [CHANNEL]: limiter.onNotify });
  return { ...limiter, end: async () => void (await Promise.all([session.close(), limiter.close()])) };
}

const takeMany = (limiter: SharedLimiter, count: number, name: string): number =>
  Array.from({ length: count }, () => limiter.take(name, RATE)).filter(({ allowed }) => allowed).length;

test('the counts of one process reach the others, exactly once', async () => {
  const processes = await Promise.all([startProcess(), startProcess(), startProcess()]);
  const [a, b, c] = processes;
  takeMany(a, 30, 'k1');
  takeMany(b, 12, 'k1');
  takeMany(b, 3, 'a2001:db8::/64');
  a.refund('k1');
  const left = (name: string) => processes.map((each) => RATE.perMinute - each.peek(name, RATE).remaining);
  await until('41 everywhere', () => left('k1').every((taken) => taken === 41));
  await until('3 everywhere', () => left('a2001:db8::/64').every((taken) => taken === 3));
  await c.close();
  expect(left('k1')).toEqual([41, 41, 41]);
  await Promise.all(processes.map(({ end }) => end()));
});

test('more names than fit into one notification are shared', async () => {
  const [here, there] = await Promise.all([startProcess(), startProcess()]);
  const names = Array.from({ length: 2000 }, (_, i) => `s${String(i).padStart(22, '0')}`);
  for (const name of names) here.take(name, RATE);
  await until('all of them', () => names.every((name) => there.peek(name, RATE).remaining === RATE.perMinute - 1));
  await Promise.all([here.end(), there.end()]);
});

test('nothing is sent while nothing is counted, and then one statement for all counts', async () => {
  const sent: unknown[] = [];
  const db: Db = {
    query: (query) => {
      sent.push(query.values);
      return database.pool.query(query);
    },
  };
  const limiter = createSharedLimiter({ db, log: silentLog, channel: CHANNEL, publishEveryMs: 1 });
  takeMany(limiter, 100, 'k1');
  takeMany(limiter, 100, 'k2');
  await until('the counts to be sent', () => sent.length > 0);
  await limiter.close();
  expect(sent).toHaveLength(1);
});

test('an unavailable database rejects no request', async () => {
  const logged: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void logged.push(message) };
  const limiter = createSharedLimiter({
    db: { query: () => Promise.reject(new Error('away')) },
    log,
    channel: CHANNEL,
  });
  expect(takeMany(limiter, 10, 'k1')).toBe(10);
  await limiter.close();
  expect(logged).toEqual(['rate-limit counts could not be shared']);
  expect(takeMany(limiter, 10, 'k1')).toBe(10);
});

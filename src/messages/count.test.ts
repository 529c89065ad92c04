import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { firstIdAt } from '../core/ids.ts';
import { countTraffic, type TrafficDelta } from './traffic.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE traffic_hour`));

const delta = (at: string, more: Partial<TrafficDelta> = {}): TrafficDelta => ({
  accountId: 1,
  id: firstIdAt(new Date(at)),
  campaignId: null,
  channel: 1,
  ...more,
});
const rows = () =>
  many(
    pool,
    sql`SELECT hour, campaign_id AS campaign, channel, sum(sent)::int AS sent, sum(failed)::int AS failed,
               sum(cost_micros)::int AS cost
        FROM traffic_hour GROUP BY hour, campaign_id, channel ORDER BY 1, 2, 3`,
  );

test('messages count in the hour of their ids, by campaign and channel, in one row per call', async () => {
  await countTraffic(pool, [
    delta('2026-11-21T09:59:59.999Z', { sent: 1 }),
    delta('2026-11-21T10:00:00.000Z', { sent: 1, costMicros: 7 }),
    delta('2026-11-21T10:59:59.999Z', { sent: 1, costMicros: 8 }),
    delta('2026-11-21T09:00:00.000Z', { sent: 1 }),
    delta('2026-11-21T10:00:00.000Z', { sent: 1, campaignId: 4, channel: 2 }),
    delta('2026-11-21T10:00:00.000Z', { failed: 1, campaignId: 4, channel: 4 }),
  ]);
  const [nine, ten] = [new Date('2026-11-21T09:00:00Z'), new Date('2026-11-21T10:00:00Z')];
  expect(await rows()).toEqual([
    { hour: nine, campaign: 0, channel: 1, sent: 2, failed: 0, cost: 0 },
    { hour: ten, campaign: 0, channel: 1, sent: 2, failed: 0, cost: 15 },
    { hour: ten, campaign: 4, channel: 2, sent: 1, failed: 0, cost: 0 },
    { hour: ten, campaign: 4, channel: 4, sent: 0, failed: 1, cost: 0 },
  ]);
  expect(await many(pool, sql`SELECT FROM traffic_hour`)).toHaveLength(4);
});

test('an empty list changes nothing', async () => {
  await countTraffic(pool, []);
  expect(await rows()).toEqual([]);
});

test('many at the same time add up, whatever the order of their keys, and never deadlock', async () => {
  const deltas = Array.from({ length: 40 }, (_, n) =>
    delta(`2026-11-21T${String(n % 5).padStart(2, '0')}:00:00Z`, {
      accountId: 1 + (n % 4),
      campaignId: n % 3,
      sent: 1,
    }),
  );
  const shuffled = (by: number): TrafficDelta[] =>
    deltas.map((_, n) => deltas[(n * by) % deltas.length] as TrafficDelta);
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      transaction(pool, (tx) => countTraffic(tx, shuffled([1, 3, 7, 39][n % 4] ?? 1))),
    ),
  );
  expect(await one(pool, sql`SELECT sum(sent)::int AS sent FROM traffic_hour`)).toEqual({ sent: 1200 });
});

test('a rollback counts nothing', async () => {
  const failing = transaction(pool, async (tx) => {
    await countTraffic(tx, [delta('2026-11-21T10:00:00Z', { sent: 1 })]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await rows()).toEqual([]);
});

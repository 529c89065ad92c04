import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { foldHours, foldTraffic, listUnfolded } from './traffic.ts';

const { pool } = testDatabase();

const NOW = new Date('2026-03-10T12:30:00Z');
const now = (): Date => NOW;
const accountId = 1;

beforeEach(() => reset(pool, sql`TRUNCATE traffic_hour, traffic_day`));

type Place = { readonly hour: string; readonly shard?: number; readonly account?: number; readonly campaign?: number };

const count = (db: Parameters<typeof exec>[0], { hour, shard = 0, account = accountId, campaign = 5 }: Place) =>
  exec(
    db,
    sql`INSERT INTO traffic_hour AS t (account_id, hour, campaign_id, channel, shard, sent, delivered, cost_micros)
      VALUES (${account}, ${hour}::timestamptz, ${campaign}, 1, ${shard}, 10, 7, 300)
      ON CONFLICT (account_id, hour, campaign_id, channel, shard)
      DO UPDATE SET sent = t.sent + 10, delivered = t.delivered + 7, cost_micros = t.cost_micros + 300`,
  );
const hours = () =>
  many(
    pool,
    sql`SELECT account_id AS account, to_char(hour AT TIME ZONE 'UTC', 'DD HH24') AS hour, shard, sent, delivered,
      cost_micros AS cost FROM traffic_hour ORDER BY 1, 2, 3`,
  );
const days = () =>
  many(
    pool,
    sql`SELECT account_id AS account, day::text, sent, delivered, cost_micros AS cost FROM traffic_day ORDER BY 1, 2`,
  );

test('rows of past hours become one row per hour and one per day; current hours stay', async () => {
  for (const shard of [0, 3, 7]) await count(pool, { hour: '2026-03-08T23:00Z', shard });
  await count(pool, { hour: '2026-03-09T00:00Z' });
  await count(pool, { hour: '2026-03-10T11:00Z' });
  await count(pool, { hour: '2026-03-09T05:00Z', account: 2 });
  expect(await foldTraffic(pool, now)).toBe(5);
  expect(await hours()).toEqual([
    { account: 1, hour: '08 23', shard: -1, sent: 30, delivered: 21, cost: 900 },
    { account: 1, hour: '09 00', shard: -1, sent: 10, delivered: 7, cost: 300 },
    { account: 1, hour: '10 11', shard: 0, sent: 10, delivered: 7, cost: 300 },
    { account: 2, hour: '09 05', shard: -1, sent: 10, delivered: 7, cost: 300 },
  ]);
  expect(await days()).toEqual([
    { account: 1, day: '2026-03-08', sent: 30, delivered: 21, cost: 900 },
    { account: 1, day: '2026-03-09', sent: 10, delivered: 7, cost: 300 },
    { account: 2, day: '2026-03-09', sent: 10, delivered: 7, cost: 300 },
  ]);
  expect(await foldTraffic(pool, now)).toBe(0);
});

test('late figures of an hour that was folded are added when they are folded in turn', async () => {
  const hour = '2026-03-09T04:00Z';
  await count(pool, { hour });
  await foldTraffic(pool, now);
  await count(pool, { hour, shard: 2 });
  expect(await foldTraffic(pool, now)).toBe(1);
  expect(await hours()).toEqual([{ account: 1, hour: '09 04', shard: -1, sent: 20, delivered: 14, cost: 600 }]);
  expect(await days()).toEqual([{ account: 1, day: '2026-03-09', sent: 20, delivered: 14, cost: 600 }]);
});

test('a day has all its hours, whenever they were folded', async () => {
  const active = () => many(pool, sql`SELECT day::text, hours FROM traffic_day ORDER BY 1`);
  await count(pool, { hour: '2026-03-08T00:00Z' });
  await count(pool, { hour: '2026-03-08T23:00Z' });
  await foldTraffic(pool, now);
  expect(await active()).toEqual([{ day: '2026-03-08', hours: 1 | (1 << 23) }]);
  await count(pool, { hour: '2026-03-08T04:00Z' });
  await foldTraffic(pool, now);
  expect(await active()).toEqual([{ day: '2026-03-08', hours: 1 | (1 << 4) | (1 << 23) }]);
});

test('a row that a writer has locked is left for the next time, and nothing of it is lost', async () => {
  const hour = '2026-03-09T04:00Z';
  await count(pool, { hour, shard: 1 });
  await count(pool, { hour, shard: 2 });
  await transaction(pool, async (tx) => {
    await count(tx, { hour, shard: 1 });
    expect(await foldTraffic(pool, now)).toBe(1);
  });
  expect(await foldTraffic(pool, now)).toBe(1);
  expect(await days()).toEqual([{ account: 1, day: '2026-03-09', sent: 30, delivered: 21, cost: 900 }]);
});

test('a writer and several folding workers at the same time: every count is in the hours once, and in the days once', async () => {
  const writes = 200;
  let writing = true;
  const write = async (first: number): Promise<void> => {
    for (let n = first; n < writes; n += 2) await count(pool, { hour: '2026-03-09T04:00Z', shard: n % 4 });
  };
  const fold = async (): Promise<void> => {
    while (writing) await foldTraffic(pool, now);
  };
  const folders = [fold(), fold()];
  await Promise.all([write(0), write(1)]);
  writing = false;
  await Promise.all(folders);
  const total = { sent: 10 * writes, delivered: 7 * writes, cost: 300 * writes };
  const sum = sql`SELECT sum(sent)::bigint AS sent, sum(delivered)::bigint AS delivered, sum(cost_micros)::bigint AS cost FROM`;
  expect(await one(pool, sql`${sum} traffic_hour`)).toEqual(total);
  while ((await foldTraffic(pool, now)) > 0);
  expect(await one(pool, sql`${sum} traffic_day`)).toEqual(total);
});

test('a batch takes the oldest hours of one account', async () => {
  const before = new Date('2026-03-10T00:00Z');
  await count(pool, { hour: '2026-03-09T02:00Z' });
  await count(pool, { hour: '2026-03-09T01:00Z' });
  await count(pool, { hour: '2026-03-09T00:00Z', account: 2 });
  expect((await listUnfolded(pool, { before })).toSorted()).toEqual([1, 2]);
  expect(await foldHours(pool, { accountId, before, limit: 1 })).toBe(1);
  expect((await hours()).filter((row) => row['shard'] === -1)).toMatchObject([{ account: 1, hour: '09 01' }]);
});

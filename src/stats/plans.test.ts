import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { explain, type Scan } from '../../test/support/plans.ts';
import { exec, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { foldTraffic } from '../messages/traffic.ts';
import * as db from './stats-store.ts';

const { pool } = testDatabase();

const accountId = 3;
const CAMPAIGNS = 20;
const YEAR = { from: new Date('2025-01-01T00:00Z'), to: new Date('2026-01-01T00:00Z') };
const filter = {
  accountId,
  ...YEAR,
  unit: 'day',
  modes: null,
  drafts: true,
  descending: false,
  limit: 10,
  offset: 0,
} as const;

beforeAll(async () => {
  await exec(
    pool,
    sql`INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, sent)
      SELECT 1 + c % 5, '2025-01-01Z'::timestamptz + (c * 400 + h) * interval '1 hour', c, 1, s, 10
      FROM generate_series(1, ${CAMPAIGNS}) AS c, generate_series(0, 300) AS h, generate_series(0, 7) AS s`,
  );
  while ((await foldTraffic(pool, () => new Date('2025-12-12T00:00Z'))) > 0);
  // As autovacuum does at some time: the plans must not depend on whether it came before the tests.
  await exec(pool, sql`VACUUM ANALYZE`);
});

async function readsOfHours(work: Parameters<typeof explain>[1]): Promise<Scan[]> {
  const scans = await explain(tenant(pool, { accountId }), work);
  expect(scans.length).toBeGreaterThan(0);
  return scans.filter(({ table }) => table === 'traffic_hour');
}

test.each(['day', 'week', 'month'] as const)('a year by %s reads only the hours that are not folded', async (unit) => {
  const scans = await readsOfHours((to) => db.listBuckets(to, { ...filter, unit }));
  expect(scans.map(({ index }) => index)).toEqual(['traffic_hour_open']);
});

test('the active hours of a year are found without reading folded hours', async () => {
  const scans = await readsOfHours((to) => db.listActiveHours(to, filter));
  expect(scans.map(({ index }) => index)).toEqual(['traffic_hour_open']);
});

test('a page of hours, and one campaign, are found by index', async () => {
  const page = { from: new Date('2025-03-01T05:00Z'), to: new Date('2025-03-01T15:00Z') };
  const hours = await readsOfHours((to) => db.listBuckets(to, { ...filter, ...page, unit: 'hour' }));
  expect(hours).toMatchObject([{ condition: expect.stringContaining('hour') }]);
  const campaign = await readsOfHours((to) => db.listChannelBuckets(to, { accountId, campaignId: 7, unit: 'day' }));
  expect(campaign).toMatchObject([{ condition: expect.stringContaining('campaign_id = ') }]);
});

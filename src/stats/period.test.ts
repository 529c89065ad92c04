import { afterAll, beforeEach, expect, test } from 'vitest';
import { newKey, openRoutes, PG } from '../../test/support/http/routes.ts';
import { bitOf, type Channel } from '../core/channels.ts';
import { exec, sql } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { countTraffic, foldTraffic, type TrafficDelta } from '../messages/traffic.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { overviewRoutes } from './overview.ts';

const { pool, newAccount, get, ...routes } = await openRoutes([overviewRoutes], { base: `${PG}/overview` });
afterAll(() => routes[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await newAccount({ plan: 'production', creditMicros: 5_000_000 });
});

const count = (at: string, what: Partial<TrafficDelta>, channel: Channel = 'SMS') =>
  countTraffic(pool, [
    { accountId: account.accountId, id: firstIdAt(new Date(at)), campaignId: null, channel: bitOf(channel), ...what },
  ]);
const period = (startDate: string, endDate: string, key = account.apiKey) =>
  get(`/period?${new URLSearchParams({ startDate, endDate })}`, key);

test('the days of a period are added up, compared with as many before, exactly, folded or not', async () => {
  await count('2026-03-09T23:59:59Z', { sent: 1, delivered: 1, costMicros: 10_000 });
  await count('2026-03-10T00:00:00Z', { sent: 10, delivered: 6, failed: 3, unsent: 1, costMicros: 250_000 });
  await count('2026-03-11T12:00:00Z', { sent: 4, delivered: 4 }, 'RCS');
  await count('2026-03-11T23:59:59Z', { sent: 2, delivered: 1 });
  await count('2026-03-12T00:00:00Z', { sent: 100 });
  for (const folded of [false, true]) {
    if (folded) await foldTraffic(pool, () => new Date('2026-04-01T00:00:00Z'));
    const { body } = await period('2026-03-10', '2026-03-11');
    expect(body).toMatchObject({
      startDate: '2026-03-10',
      endDate: '2026-03-11',
      totals: { sent: 16, delivered: 11, failed: 3, pending: 3, cost: 0.25 },
      previous: { startDate: '2026-03-08', endDate: '2026-03-09', totals: { sent: 1, delivered: 1, cost: 0.01 } },
    });
    expect(body.series).toHaveLength(6);
    expect(body.series.filter(({ sent }: { sent: number }) => sent > 0)).toEqual([
      { day: '2026-03-10', channel: 'SMS', sent: 10, delivered: 6, failed: 3, cost: 0.25 },
      { day: '2026-03-11', channel: 'SMS', sent: 2, delivered: 1, failed: 0, cost: 0 },
      { day: '2026-03-11', channel: 'RCS', sent: 4, delivered: 4, failed: 0, cost: 0 },
    ]);
  }
});

test('a period has at most 366 days, in order, and needs the scope tracking', async () => {
  expect((await period('2025-01-01', '2026-01-01')).status).toBe(200);
  for (const [from, to] of [
    ['2025-01-01', '2026-01-02'],
    ['2026-01-02', '2026-01-01'],
    ['2026-02-30', '2026-03-01'],
  ] as const)
    expect((await period(from, to)).status, `${from} ${to}`).toBe(400);
  expect((await period('2026-01-01', '2026-01-02', await newKey(pool, account, ['SMS']))).status).toBe(403);
});

test('a caller without the scope money sees no cost, and another account nothing', async () => {
  await count('2026-03-10T10:00:00Z', { sent: 1, costMicros: 10_000 });
  const few = await newKey(pool, account, ['tracking']);
  expect((await period('2026-03-10', '2026-03-10', few)).body.totals).toMatchObject({ sent: 1, cost: null });
  const other = await newAccount();
  expect((await period('2026-03-10', '2026-03-10', other.apiKey)).body.totals.sent).toBe(0);
});

test('each first step is done when what it is about exists, for this account alone', async () => {
  const { accountId } = account;
  const steps = async (key = account.apiKey) => (await get('/first-steps', key)).body;
  await exec(pool, sql`DELETE FROM price`);
  const none = { connection: false, prices: false, webhook: false, message: false, contacts: false, campaign: false };
  expect(await steps()).toEqual({ ...none, key: true });
  await exec(pool, sql`INSERT INTO price (channel, unit_micros) VALUES ('SMS', 50000)`);
  await exec(pool, sql`INSERT INTO connection (name, kind, settings, secret) VALUES ('real', 'smpp', '{}', ''::bytea)`);
  const other = await newAccount();
  expect(await steps()).toEqual({ ...none, key: true, prices: true, connection: true });
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret) VALUES (${accountId}, 'https://a', 'A', '')`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at)
        VALUES (${accountId}, 'C', 1, 'SMS', now())`,
  );
  await exec(
    pool,
    sql`INSERT INTO contact_book (account_id, contacts) VALUES (${accountId}, 1)
        ON CONFLICT (account_id) DO UPDATE SET contacts = 1`,
  );
  await count('2026-03-10T10:00:00Z', { sent: 1 });
  expect(Object.values(await steps())).toEqual(Array.from({ length: 7 }, () => true));
  expect(await steps(other.apiKey)).toEqual({ ...none, key: true, prices: true, connection: true });
});

import { beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { findResults, listMinutes } from './results.ts';

const { pool } = testDatabase();

let stage: CampaignStage;
beforeAll(async () => {
  stage = await openCampaignStage(pool);
});
beforeEach(() => exec(pool, sql`DELETE FROM campaign_minute`));

const NUMBERS = ['+393331000001', '+393331000002', '+393331000003', '+393331000004'];
const resultsOf = (campaignId: number, accountId = stage.accountId) =>
  findResults(tenant(pool, { accountId }), { accountId, campaignId });

const sums = (table: string) =>
  one<{ sent: number; delivered: number; failed: number }>(
    pool,
    table === 'minute'
      ? sql`SELECT sum(sent)::int AS sent, sum(delivered)::int AS delivered, sum(failed)::int AS failed FROM campaign_minute`
      : sql`SELECT sum(sent)::int AS sent, sum(delivered)::int AS delivered, sum(failed)::int AS failed FROM traffic_hour
            WHERE campaign_id <> 0`,
  );

async function sent(mode: 'SMS' | 'WHATSAPP_SMS' = 'SMS'): Promise<{ id: number; ids: string[] }> {
  const id = await stage.confirmed({ mode, numbers: NUMBERS });
  await stage.run();
  return { id, ids: (await stage.messages(id)).map((message) => message.id) };
}

test('failures are counted by their reason, the most frequent first, and the minutes add up to the hourly figures', async () => {
  await exec(pool, sql`DELETE FROM traffic_hour`);
  const { id, ids } = await sent();
  await stage.refuse(ids.slice(0, 1));
  await stage.accept(ids.slice(1));
  await stage.end(ids.slice(1, 3), 'UNDELIVERABLE', '001');
  await stage.end(ids.slice(3), 'DELIVERED');
  const { reasons, steps, stepSeconds } = await resultsOf(id);
  expect(reasons).toEqual([
    { channel: 'SMS', status: 'UNDELIVERABLE', code: '001', count: 2 },
    { channel: 'SMS', status: 'REJECTED', code: '8', count: 1 },
  ]);
  expect(stepSeconds).toBe(60);
  const total = { sent: 0, delivered: 0, failed: 0 };
  for (const step of steps) {
    total.sent += step.sent;
    total.delivered += step.delivered;
    total.failed += step.failed;
  }
  expect(total).toEqual({ sent: 4, delivered: 1, failed: 3 });
  expect(await sums('minute')).toEqual(await sums('hour'));
});

test('a message that arrives although our own timer had given it up is no failure any more', async () => {
  const { id, ids } = await sent();
  await stage.accept(ids);
  await stage.end(ids.slice(0, 2), 'EXPIRED', 'VALIDITY_ENDED');
  expect((await resultsOf(id)).reasons).toMatchObject([{ status: 'EXPIRED', code: 'VALIDITY_ENDED', count: 2 }]);
  await stage.end(ids.slice(0, 2), 'DELIVERED');
  expect((await resultsOf(id)).reasons).toEqual([]);
});

test('a campaign of four days is shown in at most 120 steps, which lose nothing', async () => {
  const { id, ids } = await sent();
  await stage.accept(ids);
  await exec(pool, sql`DELETE FROM campaign_minute`);
  await exec(
    pool,
    sql`INSERT INTO campaign_minute (account_id, campaign_id, minute, channel, status, code, shard, delivered)
        SELECT ${stage.accountId}, ${id}, now() - n * interval '15 minutes', 1, 0, '', 0, 1 FROM generate_series(0, 400) AS n`,
  );
  const minutes = await listMinutes(tenant(pool, stage), { accountId: stage.accountId, campaignId: id });
  expect(minutes.length).toBeLessThanOrEqual(120);
  expect(minutes[0]?.stepSeconds).toBe(3600);
  expect(minutes.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(401);
});

const inbound = (source: string) =>
  exec(
    pool,
    sql`INSERT INTO inbound_message (account_id, id, connection_id, source, destination, body, octets, parts, parts_received, received_at)
        VALUES (${stage.accountId}, ${newId()}::uuid, 1, ${source}, '4242', 'Hi', '', 1, 1, now())`,
  );
const optOut = (number: string, source: string) =>
  exec(
    pool,
    sql`INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES (${stage.accountId}, ${number}, 'SMS', ${source})
        ON CONFLICT DO NOTHING`,
  );

test('people who reply and people who opt out are counted once each, and only recipients', async () => {
  const { id } = await sent();
  await inbound('393331000001');
  await inbound('393331000001');
  await inbound('393331000002');
  await inbound('393339999999');
  await optOut('+393331000003', 'STOP');
  await optOut('+393331000004', 'API');
  await optOut('+393339999999', 'STOP');
  expect(await resultsOf(id)).toMatchObject({ replies: 2, repliesAreComplete: true, optOuts: 1 });
});

test('a campaign that has not started has no results, and one of another account is not found', async () => {
  const id = await stage.confirmed({ numbers: NUMBERS, scheduledInMinutes: 60 });
  expect(await resultsOf(id)).toMatchObject({ startedAt: null, replies: 0, optOuts: 0, reasons: [], steps: [] });
  await expect(resultsOf(id, stage.accountId + 1000)).rejects.toThrow('Not found');
});

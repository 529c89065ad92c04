import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exec, many, one, sql } from '../../../platform/db/query.ts';
import { mobileNumbers } from '../../../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage, PRICE_MICROS } from '../../../../test/support/campaigns/stage.ts';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { readBooks } from '../../../../test/support/money.ts';

let database: TestDatabase;
let pool: Pool;
let stage: CampaignStage;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool;
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  await exec(pool, sql`TRUNCATE campaign_job, dispatch_chunk`);
  await exec(pool, sql`DELETE FROM route`);
  stage = await openCampaignStage(pool);
});

const campaignOf = (id: number) =>
  one<{
    status: number;
    paused: boolean;
    reason: string | null;
    reserved: number;
    skipped: number;
    recipients: number;
  }>(
    pool,
    sql`SELECT c.status, c.paused_at IS NOT NULL AS paused, c.failure_reason AS reason, c.reserved_micros AS reserved,
               r.skipped, r.recipients
        FROM campaign c JOIN campaign_run r ON r.campaign_id = c.id WHERE c.id = ${id}`,
  );
const idsOf = async (id: number): Promise<string[]> => (await stage.messages(id)).map((message) => message.id);
const queued = async (): Promise<string[]> =>
  (await many<{ ids: string[] }>(pool, sql`SELECT ids FROM dispatch_chunk ORDER BY id`)).flatMap(({ ids }) => ids);
const change = (id: number, columns: string) =>
  pool.query({ text: `UPDATE campaign SET ${columns} WHERE id = $1`, values: [id] });

test('recipients get their messages in the order of their numbers, each once, and the rest of the credit returns', async () => {
  const to = mobileNumbers(6500);
  const id = await stage.confirmed({ numbers: to, reservedMicros: 6600 * PRICE_MICROS });
  await stage.run();
  const messages = await stage.messages(id);
  expect(messages.map(({ destination }) => destination)).toEqual(to);
  const ids = messages.map((message) => message.id);
  expect(await queued()).toEqual(ids);
  await stage.accept(ids);
  await stage.end(ids, 'DELIVERED');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3, recipients: 6500, skipped: 0 });
  const { frozen, earned } = await readBooks(pool, stage.accountId);
  expect([frozen, earned]).toEqual([0, 6500 * PRICE_MICROS]);
  expect(await many(pool, sql`SELECT FROM campaign_job`)).toEqual([]);
});

test('a step that fails leaves nothing behind, and is done again', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(20) });
  await exec(pool, sql`ALTER TABLE campaign_batch ADD CONSTRAINT fault CHECK (hop < 0) NOT VALID`);
  await stage.run();
  expect(await stage.messages(id)).toEqual([]);
  expect(await queued()).toEqual([]);
  await exec(pool, sql`ALTER TABLE campaign_batch DROP CONSTRAINT fault`);
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(20);
});

test('two workers at one campaign make no message twice', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(9000) });
  await Promise.all([stage.run(), stage.run(), stage.run()]);
  const messages = await stage.messages(id);
  expect(new Set(messages.map(({ destination }) => destination)).size).toBe(messages.length);
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(9000);
});

test('only so much waits in the queue, and more is made when it has gone', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(21_000) });
  await stage.run();
  expect(await queued()).toHaveLength(20_000);
  await stage.accept((await idsOf(id)).slice(0, 10_000));
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(21_000);
});

test('at a slow connection no more waits than a pause can take back soon', async () => {
  await exec(pool, sql`UPDATE connection SET settings = '{"tps": 10}'`);
  await stage.confirmed({ numbers: mobileNumbers(500) });
  await stage.run();
  expect(await queued()).toHaveLength(30);
});

test('a rate of its own holds a campaign to so many recipients a second', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(100), rate: 15 });
  await stage.run();
  await stage.run();
  const made = (await stage.messages(id)).length;
  expect(made % 15).toBe(0);
  const most = await one<{ most: number }>(
    pool,
    sql`SELECT max(n) AS most FROM (
          SELECT sum(cardinality(message_ids)) OVER (ORDER BY created_at RANGE BETWEEN '999 ms' PRECEDING AND CURRENT ROW) AS n
          FROM campaign_batch WHERE campaign_id = ${id}) AS w`,
  );
  expect(Number(most.most)).toBeLessThanOrEqual(15);
  await stage.pass(2);
  await stage.run();
  expect((await stage.messages(id)).length).toBeGreaterThan(made);
});

test('a scheduled campaign has its recipients at once and its messages at its time', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(5), scheduledInMinutes: 30 });
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 1, recipients: 5 });
  expect(await stage.messages(id)).toEqual([]);
  await stage.pass(31 * 60);
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 2 });
  expect(await stage.messages(id)).toHaveLength(5);
});

test('a schedule that was missed by more than an hour asks, and is sent when a person resumes it', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(5), scheduledInMinutes: 30 });
  await stage.run();
  await stage.pass(91 * 60);
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({
    status: 1,
    paused: true,
    reason: expect.stringContaining('an hour ago'),
  });
  await change(id, 'paused_at = NULL');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 2, paused: false, reason: null });
  expect(await stage.messages(id)).toHaveLength(5);
});

test('while it is paused no message is made, and it goes on where it was', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(21_000) });
  await stage.run();
  await change(id, 'paused_at = now()');
  await stage.accept((await idsOf(id)).slice(0, 10_000));
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(20_000);
  expect(await many(pool, sql`SELECT FROM dispatch_chunk WHERE parked_until IS NULL`)).toEqual([]);
  await change(id, 'paused_at = NULL');
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(21_000);
});

test('cancelled, what waits is taken back, the others get nothing, and only what was sent is paid', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(30_000) });
  await stage.run();
  const sent = (await idsOf(id)).slice(0, 4000);
  await stage.accept(sent);
  await change(id, 'cancelled_at = now()');
  await stage.run();
  expect(await queued()).toEqual([]);
  expect(await campaignOf(id)).toMatchObject({ status: 2, skipped: 10_000 });
  await stage.end(sent, 'DELIVERED');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3, reason: null });
  const { frozen, earned } = await readBooks(pool, stage.accountId);
  expect([frozen, earned]).toEqual([0, 4000 * PRICE_MICROS]);
});

test('a campaign that was deleted before its time leaves nothing behind', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(12_000), scheduledInMinutes: 30 });
  await stage.run();
  await exec(pool, sql`DELETE FROM campaign WHERE id = ${id}`);
  await stage.run();
  for (const table of ['campaign_recipient', 'campaign_lane', 'campaign_run', 'campaign_job'])
    expect((await pool.query(`SELECT FROM ${table} WHERE campaign_id = $1`, [id])).rowCount).toBe(0);
});

test('who has opted out since the confirmation gets nothing, is counted as skipped, and costs nothing', async () => {
  const [ana = '', bob = ''] = mobileNumbers(2);
  const id = await stage.confirmed({ numbers: [ana, bob], scheduledInMinutes: 30 });
  await stage.run();
  await exec(pool, sql`UPDATE account SET has_opt_outs = true WHERE id = ${stage.accountId}`);
  await exec(
    pool,
    sql`INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES (${stage.accountId}, ${ana}, 'SMS', 'STOP')`,
  );
  await stage.pass(31 * 60);
  await stage.run();
  const [message] = await stage.messages(id);
  expect(await stage.messages(id)).toMatchObject([{ destination: bob }]);
  await stage.accept([message?.id ?? '']);
  await stage.end([message?.id ?? ''], 'DELIVERED');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3, skipped: 1 });
  expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
  const skipped = await many(
    pool,
    sql`SELECT destination, skip_reason FROM campaign_recipient WHERE skip_reason IS NOT NULL`,
  );
  expect(skipped).toEqual([{ destination: ana, skip_reason: 'opted_out' }]);
});

test('what goes beyond the frozen credit is skipped and never sent', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(10), reservedMicros: 7 * PRICE_MICROS });
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(7);
  expect(await campaignOf(id)).toMatchObject({ recipients: 10, skipped: 3 });
});

test('a contact whose name has grown since the confirmation gets no longer text than was paid for', async () => {
  const [ana = '', bob = ''] = mobileNumbers(2);
  const longName = 'x'.repeat(200);
  await exec(
    pool,
    sql`INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels)
        SELECT ${stage.accountId}, 'Ana', n, true, 1 FROM unnest(${[ana, bob]}::text[]) AS n`,
  );
  const id = await stage.confirmed({ numbers: [ana, bob], body: 'Hi {{firstName}}', scheduledInMinutes: 30 });
  await stage.run();
  await exec(pool, sql`UPDATE contact SET first_name = ${longName} WHERE phone_number = ${ana}`);
  await stage.pass(31 * 60);
  await stage.run();
  const bodies = await many(pool, sql`SELECT destination, body, parts FROM message WHERE campaign_id = ${id}`);
  expect(bodies).toEqual([{ destination: bob, body: 'Hi Ana', parts: 1 }]);
});

test('nothing of it can be sent: it has failed, and says why', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  await stage.refuse(await idsOf(id));
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 4, reason: 'Nothing could be sent: no' });
  expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
});

test('some could be sent and none was delivered: it is complete', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  const ids = await idsOf(id);
  await stage.accept(ids);
  await stage.end(ids, 'UNDELIVERABLE');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3, reason: null });
});

test('an account that is suspended stops its campaigns until somebody resumes them', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  await exec(pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${stage.accountId}`);
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 2, paused: true, reason: 'The account is suspended' });
  expect(await many(pool, sql`SELECT FROM dispatch_chunk WHERE parked_until IS NULL`)).toEqual([]);
  await exec(pool, sql`UPDATE account SET status = 'active' WHERE id = ${stage.accountId}`);
  await change(id, 'paused_at = NULL');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 2, paused: false, reason: null });
});

test('a campaign of an account that was suspended before it began has failed, and its credit is back', async () => {
  await exec(pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${stage.accountId}`);
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 4, reason: 'The account is suspended' });
  expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
});

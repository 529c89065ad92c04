import { beforeEach, expect, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage, PRICE_MICROS } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { watchInserts } from '../../test/support/inserted-messages.ts';
import { countTurns } from '../../test/support/loop-turns.ts';
import { readBooks } from '../../test/support/money.ts';
import { reset } from '../../test/support/reset.ts';
import { say } from '../../test/support/say.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createOptOutTokens } from '../messages/opt-out-links.ts';
import { learnAddresses } from '../messages/person-aliases.ts';

const { pool } = testDatabase();

let stage: CampaignStage;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE campaign_job, dispatch_chunk`);
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
    unmade: number;
    withdrawn: number;
  }>(
    pool,
    sql`SELECT c.status, c.paused_at IS NOT NULL AS paused, c.failure_reason AS reason, c.reserved_micros AS reserved,
               r.skipped, r.recipients, r.unmade, r.withdrawn
        FROM campaign c JOIN campaign_run r ON r.campaign_id = c.id WHERE c.id = ${id}`,
  );
const idsOf = async (id: number): Promise<string[]> => (await stage.messages(id)).map((message) => message.id);
const queued = async (): Promise<string[]> =>
  (await many<{ ids: string[] }>(pool, sql`SELECT ids FROM dispatch_chunk ORDER BY id`)).flatMap(({ ids }) => ids);
const change = (id: number, columns: string) =>
  pool.query({ text: `UPDATE campaign SET ${columns} WHERE id = $1`, values: [id] });

test('recipients get their messages in the order of their numbers, each once, and the rest of the credit is returned', async () => {
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

test('a step leaves the event loop and the database to single sends after 500 messages', async () => {
  const turns = countTurns();
  const chosenIn: number[] = [];
  stage = await openCampaignStage(pool, undefined, () => void chosenIn.push(turns()));
  const id = await stage.confirmed({ numbers: mobileNumbers(2400) });
  const inserts = watchInserts();
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(2400);
  expect(await inserts()).toEqual([500, 500, 500, 500, 400]);
  const perTurn = [...Map.groupBy(chosenIn, (turn) => turn).values()].map((own) => own.length);
  expect(Math.max(...perTurn)).toBe(500);
});

test('a step that fails leaves nothing behind, and is retried', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(20) });
  await exec(pool, sql`ALTER TABLE campaign_batch ADD CONSTRAINT fault CHECK (fallback_number < 0) NOT VALID`);
  await stage.run();
  expect(await stage.messages(id)).toEqual([]);
  expect(await queued()).toEqual([]);
  await exec(pool, sql`ALTER TABLE campaign_batch DROP CONSTRAINT fault`);
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(20);
});

test('two workers create no message of a campaign twice', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(9000) });
  await Promise.all([stage.run(), stage.run(), stage.run()]);
  const messages = await stage.messages(id);
  expect(new Set(messages.map(({ destination }) => destination)).size).toBe(messages.length);
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(9000);
});

test('a limited number of messages waits in the queue, and more are created when they have been sent', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(21_000) });
  await stage.run();
  expect(await queued()).toHaveLength(20_000);
  await stage.accept((await idsOf(id)).slice(0, 10_000));
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(21_000);
});

test('at a slow connection no more messages wait than a pause can withdraw quickly', async () => {
  await exec(pool, sql`UPDATE connection SET settings = '{"tps": 10}'`);
  await stage.confirmed({ numbers: mobileNumbers(500) });
  await stage.run();
  expect(await queued()).toHaveLength(30);
});

test('a campaign with a rate sends to that many recipients per second', async () => {
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

test('a scheduled campaign has its recipients at once and its messages at the scheduled time', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(5), scheduledInMinutes: 30 });
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 1, recipients: 5 });
  expect(await stage.messages(id)).toEqual([]);
  await stage.pass(31 * 60);
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 2 });
  expect(await stage.messages(id)).toHaveLength(5);
});

test('a campaign that missed its time by more than an hour is paused, and sent when a person resumes it', async () => {
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

test('while a campaign is paused no message is created, and it resumes where it was', async () => {
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

test('a cancelled campaign withdraws waiting messages, sends no more, and only sent messages are charged', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(30_000) });
  await stage.run();
  const sent = (await idsOf(id)).slice(0, 4000);
  await stage.accept(sent);
  await change(id, 'cancelled_at = now()');
  await stage.run();
  expect(await queued()).toEqual([]);
  expect(await campaignOf(id)).toMatchObject({
    status: 2,
    recipients: 30_000,
    skipped: 0,
    unmade: 10_000,
    withdrawn: 16_000,
  });
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

test('a recipient who has opted out since the confirmation gets nothing, counts as skipped, and costs nothing', async () => {
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

const FRANZ = { number: '+393331239876', userId: 'IT.13491208655302741918', country: 'IT' };
const LUZ = { number: '+5215512345678', now: '525512345678', country: 'MX' };
test.each([
  ['SMS', 'the number', FRANZ, FRANZ.number.slice(1)],
  ['RCS', 'the number', FRANZ, FRANZ.number],
  ['WHATSAPP', 'the number', FRANZ, FRANZ.number.slice(1)],
  ['WHATSAPP', 'a user id', FRANZ, FRANZ.userId],
  ['SMS', 'a newer form of the number', LUZ, LUZ.now],
  ['WHATSAPP', 'a newer form of the number', LUZ, LUZ.now],
] as const)('after a STOP on %s from %s between goal and send, no message is sent', async (mode, _, person, source) => {
  const { accountId } = stage;
  if ('userId' in person)
    await transaction(pool, (tx) => learnAddresses(tx, [{ accountId, alias: person.userId, address: person.number }]));
  const id = await stage.confirmed({
    mode,
    numbers: [person.number],
    countries: [person.country],
    scheduledInMinutes: 30,
  });
  await stage.run();
  await transaction(pool, (tx) => say(tx, [{ accountId, channel: mode, source, body: 'STOP' }]));
  await stage.pass(31 * 60);
  await stage.run();
  expect(await stage.messages(id)).toEqual([]);
  expect(await campaignOf(id)).toMatchObject({ skipped: 1 });
});

test('recipients beyond the frozen credit are skipped', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(10), reservedMicros: 7 * PRICE_MICROS });
  await stage.run();
  expect(await stage.messages(id)).toHaveLength(7);
  expect(await campaignOf(id)).toMatchObject({ recipients: 10, skipped: 3 });
});

test('a contact whose name has become longer since the confirmation gets no longer text than was paid for', async () => {
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

test('a campaign of which nothing can be sent has failed, and says why', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  await stage.refuse(await idsOf(id));
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 4, reason: 'Nothing could be sent: no' });
  expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
});

test('a campaign of which some was sent and none delivered is complete', async () => {
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  const ids = await idsOf(id);
  await stage.accept(ids);
  await stage.end(ids, 'UNDELIVERABLE');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3, reason: null });
});

test('the campaigns of a suspended account stop until a user resumes them', async () => {
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

test('a campaign of an account that was suspended before the start has failed, and its credit is returned', async () => {
  await exec(pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${stage.accountId}`);
  const id = await stage.confirmed({ numbers: mobileNumbers(3) });
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 4, reason: 'The account is suspended' });
  expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
});

test('each recipient gets their own link to opt out, and it is counted at its real length', async () => {
  const links = createOptOutTokens(createSecretKey(Buffer.alloc(32, 5)));
  stage = await openCampaignStage(pool, undefined, undefined, undefined, {
    optOutLink: (person) => `https://sms.example.com/c/${links.seal(person)}`,
  });
  const to = mobileNumbers(3);
  // With the link it is 161 characters, with the placeholder as it is written less.
  const id = await stage.confirmed({
    numbers: to,
    reservedMicros: 6 * PRICE_MICROS,
    body: `${'a'.repeat(112)} {{optout}}`,
  });
  await stage.run();
  const sent = await many<{ destination: string; body: string; parts: number }>(
    pool,
    sql`SELECT destination, body, parts FROM message WHERE campaign_id = ${id} ORDER BY destination`,
  );
  expect(sent.map(({ body }) => links.open(body.slice(-22)))).toEqual(
    to.map((phoneNumber) => ({ accountId: stage.accountId, phoneNumber })),
  );
  expect(sent.map(({ parts }) => parts)).toEqual([2, 2, 2]);
});

test('a value that reads like the opt-out link, or opens its braces, is sent as it is', async () => {
  stage = await openCampaignStage(pool, undefined, undefined, undefined, { optOutLink: () => 'https://x.example/c/1' });
  const [ana = '', bob = ''] = mobileNumbers(2);
  await exec(
    pool,
    sql`INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels)
        SELECT ${stage.accountId}, f, n, true, 1
        FROM unnest(${[ana, bob]}::text[], ${['{{optout}}', '{{x|']}::text[]) AS u (n, f)`,
  );
  const id = await stage.confirmed({ numbers: [ana, bob], body: 'Hi {{firstName}} {{optout}}' });
  await stage.run();
  const sent = await many<{ body: string }>(pool, sql`SELECT body FROM message WHERE campaign_id = ${id} ORDER BY id`);
  expect(sent.map(({ body }) => body)).toEqual([
    'Hi {{optout}} https://x.example/c/1',
    'Hi {{x| https://x.example/c/1',
  ]);
});

import { afterAll, beforeEach, expect, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage, PRICE_MICROS } from '../../test/support/campaigns/stage.ts';
import { createScriptedRevoke, type ScriptedRevoke } from '../../test/support/carriers/scripted-revoke.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { readBooks } from '../../test/support/money.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import type { StatusName } from '../core/message-state.ts';
import { EXPIRED_BY_US } from '../messages/store.ts';
import { moveToAccepted } from '../messages/unknown-outcomes.ts';

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

let stage: CampaignStage;
let network: ScriptedRevoke;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE campaign_job, campaign_outcome, dispatch_chunk`);
  await exec(pool, sql`DELETE FROM route`);
  network = createScriptedRevoke();
  stage = await openCampaignStage(pool, network);
});

const [ANA = '', BOB = ''] = mobileNumbers(2);

/** Creates a campaign whose first messages a carrier has taken. */
async function begun(mode: 'RCS_SMS' | 'WHATSAPP_SMS' | 'WHATSAPP_RCS_SMS', more: object = {}): Promise<number> {
  const id = await stage.confirmed({ mode, numbers: [ANA], ...more });
  await stage.run();
  await stage.accept([(await stage.last(id)).id]);
  await stage.run();
  return id;
}
const channelsOf = async (id: number): Promise<string[]> => (await stage.messages(id)).map(({ channel }) => channel);
const recordOf = (id: number) =>
  one<{ status: number; ended: number; delivered: number; messages: number; reserved: number }>(
    pool,
    sql`SELECT c.status, r.ended, r.delivered, r.messages, c.reserved_micros AS reserved FROM campaign c
        JOIN campaign_run r ON r.campaign_id = c.id WHERE c.id = ${id}`,
  );
const end = async (id: number, status: StatusName, errorCode?: string): Promise<void> => {
  await stage.end([(await stage.last(id)).id], status, errorCode);
  await stage.run();
};

test('after a final failure the next channel is tried at once, and the last fallback ends the recipient', async () => {
  const id = await begun('WHATSAPP_RCS_SMS');
  await end(id, 'UNDELIVERABLE');
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'RCS']);
  await stage.accept([(await stage.last(id)).id]);
  await end(id, 'UNSUPPORTED');
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'RCS', 'SMS']);
  await stage.accept([(await stage.last(id)).id]);
  await end(id, 'UNDELIVERABLE');
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1, delivered: 0, messages: 3 });
  const fallbacks = await many(
    pool,
    sql`SELECT fallback_number AS fallback, reason FROM campaign_fallback WHERE campaign_id = ${id} ORDER BY fallback_number`,
  );
  expect(fallbacks).toEqual([
    { fallback: 1, reason: 'UNDELIVERABLE' },
    { fallback: 2, reason: 'UNSUPPORTED' },
  ]);
});

test('a recipient who was reached gets nothing more, and the campaign completes', async () => {
  const id = await begun('RCS_SMS');
  await end(id, 'DELIVERED');
  await stage.pass(3600);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1, delivered: 1 });
});

test('no message follows an unknown outcome, neither after a timeout nor after our own expiry', async () => {
  const id = await stage.confirmed({ mode: 'RCS_SMS', numbers: [ANA] });
  await stage.run();
  await stage.doubt([(await stage.last(id)).id]);
  await stage.pass(3600);
  await stage.run();
  expect(network.asked).toEqual([]);
  await end(id, 'EXPIRED', EXPIRED_BY_US);
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1, delivered: 0 });
});

test('the time of a message goes on when its unknown outcome turns out to be an acceptance', async () => {
  const id = await stage.confirmed({ mode: 'WHATSAPP_SMS', numbers: [ANA, BOB] });
  await stage.run();
  const { id: messageId } = await stage.last(id, ANA);
  await stage.doubt([messageId]);
  await stage.accept([(await stage.last(id, BOB)).id]);
  await stage.end([(await stage.last(id, BOB)).id], 'DELIVERED');
  await stage.pass(3601);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'WHATSAPP']);
  await moveToAccepted(pool, [{ accountId: stage.accountId, messageId, carrierId: 'x' }]);
  await stage.pass(300);
  await stage.run();
  expect(await stage.messages(id)).toMatchObject([
    { destination: ANA, channel: 'WHATSAPP' },
    { destination: BOB, channel: 'WHATSAPP' },
    { destination: ANA, channel: 'SMS' },
  ]);
});

test('after a timeout an RCS message is revoked first, and the next message waits for its network', async () => {
  const id = await begun('RCS_SMS');
  network.answer = false;
  await stage.pass(301);
  await stage.run();
  await stage.run();
  expect(network.asked).toMatchObject([{ destination: ANA, sender: 'agent' }]);
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ status: 2, ended: 0 });
});

test('a message that its network has revoked has ended, and the next channel is tried', async () => {
  const id = await begun('RCS_SMS');
  await stage.pass(301);
  await stage.run();
  await stage.run();
  expect(await stage.messages(id)).toMatchObject([
    { channel: 'RCS', status: 5 },
    { channel: 'SMS', status: null },
  ]);
});

test('a message that is being sent while others are revoked is processed afterwards', async () => {
  const id = await stage.confirmed({ mode: 'RCS_SMS', numbers: [ANA, BOB] });
  await stage.run();
  await stage.accept([(await stage.last(id, ANA)).id]);
  await stage.pass(301);
  await stage.run();
  expect(network.asked.map(({ destination }) => destination)).toEqual([ANA]);
  await stage.accept([(await stage.last(id, BOB)).id]);
  await stage.pass(301);
  await stage.run();
  expect(network.asked.map(({ destination }) => destination)).toEqual([ANA, BOB]);
  expect(await channelsOf(id)).toEqual(['RCS', 'RCS', 'SMS', 'SMS']);
});

test('a network that this process has no connection to, or that does not respond, is asked again later', async () => {
  const id = await begun('RCS_SMS');
  network.linked = false;
  await stage.pass(301);
  await stage.run();
  expect(network.asked).toEqual([]);
  [network.linked, network.answer] = [true, null];
  await stage.pass(15);
  await stage.run();
  expect([network.asked.length, await channelsOf(id)]).toEqual([1, ['RCS']]);
  network.answer = true;
  await stage.pass(15);
  await stage.run();
  expect([network.asked.length, await channelsOf(id)]).toEqual([2, ['RCS', 'SMS']]);
});

test('a timeout on WhatsApp leads to the next channel, and a late receipt does not change the recipient', async () => {
  const id = await begun('WHATSAPP_SMS');
  const [first] = await stage.messages(id);
  await stage.pass(3601);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'SMS']);
  await stage.accept([(await stage.last(id)).id]);
  await stage.end([first?.id ?? ''], 'DELIVERED');
  await stage.run();
  expect(await recordOf(id)).toMatchObject({ status: 2, ended: 0 });
  await end(id, 'DELIVERED');
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1, delivered: 1, messages: 2 });
});

test('a failure after a timeout sends no second copy', async () => {
  const id = await begun('WHATSAPP_SMS');
  const [first] = await stage.messages(id);
  await stage.pass(3601);
  await stage.run();
  await stage.end([first?.id ?? ''], 'UNDELIVERABLE');
  await stage.run();
  await stage.run();
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'SMS']);
});

test('no message leaves a channel on which no carrier has taken it, however long that takes', async () => {
  const id = await stage.confirmed({ mode: 'WHATSAPP_SMS', numbers: [ANA, BOB] });
  await stage.run();
  for (let checks = 0; checks < 5; checks++) {
    await stage.pass(3601);
    await stage.run();
  }
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'WHATSAPP']);
  await stage.accept([(await stage.last(id, ANA)).id]);
  await stage.pass(3500);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'WHATSAPP']);
  await stage.pass(101);
  await stage.run();
  expect((await stage.last(id, ANA)).channel).toBe('SMS');
  expect((await stage.last(id, BOB)).status).toBeNull();
});

test('messages that no carrier takes within maxWait are withdrawn before the next channel is tried', async () => {
  const fallback = { maxWait: 7200 };
  const id = await stage.confirmed({ mode: 'WHATSAPP_SMS', numbers: [ANA, BOB], fallback });
  await stage.run();
  await stage.pass(7100);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['WHATSAPP', 'WHATSAPP']);
  await stage.pass(101);
  await stage.run();
  await stage.run();
  const messages = await stage.messages(id);
  expect(messages.map(({ channel, status }) => [channel, status])).toEqual([
    ['WHATSAPP', 5],
    ['WHATSAPP', 5],
    ['SMS', null],
    ['SMS', null],
  ]);
  const waiting = await many<{ ids: string[] }>(pool, sql`SELECT ids FROM dispatch_chunk`);
  expect(waiting.flatMap(({ ids }) => ids)).toEqual(messages.slice(2).map((message) => message.id));
  const reasons = await many(pool, sql`SELECT reason FROM campaign_fallback WHERE campaign_id = ${id}`);
  expect(reasons).toEqual([{ reason: 'NOT_TRIED' }, { reason: 'NOT_TRIED' }]);
});

test('a recipient who gets messages on two channels is counted, once', async () => {
  const id = await begun('WHATSAPP_RCS_SMS');
  const [first] = await stage.messages(id);
  const twice = async (): Promise<number> =>
    (
      await one<{ count: number }>(
        pool,
        sql`SELECT delivered_twice AS count FROM campaign_run WHERE campaign_id = ${id}`,
      )
    ).count;
  await stage.pass(3601);
  await stage.run();
  await stage.accept([(await stage.last(id)).id]);
  await end(id, 'UNDELIVERABLE');
  await stage.accept([(await stage.last(id)).id]);
  await end(id, 'DELIVERED');
  expect(await twice()).toBe(0);
  await stage.end([first?.id ?? ''], 'DELIVERED');
  await stage.run();
  expect([await twice(), await recordOf(id)]).toMatchObject([1, { status: 3, ended: 1, delivered: 1 }]);
});

test('onStatus limits which failures lead to the next channel', async () => {
  const id = await begun('RCS_SMS', { fallback: { onStatus: ['UNSUPPORTED'] } });
  await end(id, 'UNDELIVERABLE');
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1 });
});

test('no message follows a cancelled one', async () => {
  const id = await begun('RCS_SMS');
  await end(id, 'DELETED', 'CANCELLED');
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ ended: 1 });
});

test('a recipient who has opted out of the next channel in the meantime gets nothing', async () => {
  const id = await begun('RCS_SMS');
  await exec(pool, sql`UPDATE account SET has_opt_outs = true WHERE id = ${stage.accountId}`);
  await exec(
    pool,
    sql`INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES (${stage.accountId}, ${ANA}, 'SMS', 'STOP')`,
  );
  await end(id, 'UNDELIVERABLE');
  expect(await channelsOf(id)).toEqual(['RCS']);
  expect(await recordOf(id)).toMatchObject({ status: 3, ended: 1, delivered: 0 });
});

test('in quiet hours the next message waits for the morning', async () => {
  const id = await begun('RCS_SMS');
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Rome', hour: '2-digit', minute: '2-digit' });
  const [from, to] = [clock.format(Date.now() - 3_600_000), clock.format(Date.now() + 3_600_000)];
  await exec(pool, sql`UPDATE campaign SET quiet_hours = ${JSON.stringify({ from, to })}::jsonb WHERE id = ${id}`);
  await end(id, 'UNDELIVERABLE');
  expect(await channelsOf(id)).toEqual(['RCS']);
  await exec(pool, sql`UPDATE campaign SET quiet_hours = NULL WHERE id = ${id}`);
  await stage.pass(2 * 3600);
  await stage.run();
  expect(await channelsOf(id)).toEqual(['RCS', 'SMS']);
});

test('unused reserve is returned, and the reserve of late messages is returned when they have ended', async () => {
  const before = await readBooks(pool, stage.accountId);
  const id = await begun('WHATSAPP_SMS', { reservedMicros: 5 * PRICE_MICROS });
  const [first] = await stage.messages(id);
  await stage.pass(3601);
  await stage.run();
  await stage.accept([(await stage.last(id)).id]);
  await end(id, 'DELIVERED');
  const over = await readBooks(pool, stage.accountId);
  expect([before.available - over.available, over.frozen, over.earned]).toEqual([
    2 * PRICE_MICROS,
    PRICE_MICROS,
    PRICE_MICROS,
  ]);
  await stage.end([first?.id ?? ''], 'EXPIRED', EXPIRED_BY_US);
  await stage.run();
  const settled = await readBooks(pool, stage.accountId);
  expect([before.available - settled.available, settled.frozen, settled.earned]).toEqual([
    PRICE_MICROS,
    0,
    PRICE_MICROS,
  ]);
  expect(await many(pool, sql`SELECT FROM campaign_job`)).toEqual([]);
});

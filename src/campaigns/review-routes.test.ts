import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { DAY_MS } from '../core/time.ts';
import { changeConsent } from '../messages/consent.ts';
import { insertPrice } from '../money/prices.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { insertTemplate } from '../templates/store.ts';

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  const made = { language: 'en', category: '', headerLink: null, named: false, ownerId: null, connectionId: null };
  const template = { ...made, channel: 'RCS', id: 'r1', name: 'r1', status: 'APPROVED' } as const;
  await insertTemplate(api.pool, {
    ...template,
    content: { text: 'RCS for {{who}}' },
    variables: ['firstName|friend'],
  });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
});

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object, key = account.apiKey) => api.call(key, method, path, body);
const SMS = { sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi {{firstName|you}}' };
const review = async (body: object) => (await call('POST', '/campaigns/preview/review', body)).body;
const NUMBERS = ['+393331000001', '+393331000002', '+390612345678', 'nonsense', '+393331000001'];

async function listOf(count: number, optedOut = 0): Promise<number> {
  const contactIds: number[] = [];
  for (let n = 0; n < count; n++) {
    const person = { phoneNumber: `+39333200${1000 + n}`, firstName: `P${n}`, optedOut: n < optedOut ? ['SMS'] : [] };
    contactIds.push((await call('POST', '/contacts', person)).body.id);
  }
  const { id } = (await call('POST', '/contacts/list', { name: 'L' })).body;
  await call('POST', '/contacts/list/contacts', { listIds: [id], contactIds });
  return id;
}

test('the review gives the figures of the audience, for numbers and for lists, and stores nothing', async () => {
  for (const recipients of [{ destinations: NUMBERS }, { contactListIds: [await listOf(5, 2)] }]) {
    const reviewed = await review({ ...SMS, ...recipients });
    expect(
      await one(api.pool, sql`SELECT count(*)::int AS n FROM campaign WHERE account_id = ${account.accountId}`),
    ).toEqual({ n: 0 });
    const { id } = (await call('POST', '/campaigns', { ...SMS, ...recipients, name: 'C' })).body;
    const audience = (await call('POST', `/campaigns/${id}/calculateGoal`)).body;
    expect(reviewed).toMatchObject({
      total: audience.totalDestinations,
      totalSkipped: audience.totalSkipped,
      skipped: audience.skipped,
      maxPrice: audience.estimatedCost,
      problems: [],
    });
    await call('DELETE', `/campaigns/${id}`);
  }
});

test('purpose, weekly cap and date decide in the review, the preview and the goal alike', async () => {
  const { accountId } = account;
  const [tired, stopped, other] = ['+393331000011', '+393331000012', '+393331000013'];
  await transaction(api.pool, (tx) =>
    changeConsent(tx, [
      {
        accountId,
        phoneNumber: stopped,
        channel: 'SMS',
        purpose: 'marketing',
        sender: '*',
        state: 'OPTED_OUT',
        source: 'API',
        since: null,
        proof: null,
      },
    ]),
  );
  await exec(
    api.pool,
    sql`INSERT INTO marketing_week (account_id, person, sent_at, last_at, cap, taken)
        VALUES (${accountId}, person_of(${tired}), ARRAY[now()], now(), 9, 1)`,
  );
  const later = new Date(Date.now() + 8 * DAY_MS).toISOString();
  await insertPrice(api.pool, {
    accountId,
    channel: 'SMS',
    prefix: '39333',
    unitMicros: 90_000,
    refundUndelivered: false,
    validFrom: new Date(Date.now() + 7 * DAY_MS),
  });
  const destinations = [tired, stopped, other];
  const seen: unknown[] = [];
  for (const more of [
    { purpose: 'marketing', weeklyCap: 1 },
    { purpose: 'transactional', weeklyCap: 1 },
    { purpose: 'marketing', weeklyCap: 2 },
    { purpose: 'marketing', weeklyCap: 1, scheduledDate: later },
  ]) {
    const reviewed = await review({ ...SMS, destinations, ...more });
    const { id } = (await call('POST', '/campaigns', { ...SMS, destinations, ...more, name: 'C' })).body;
    const goal = (await call('POST', `/campaigns/${id}/calculateGoal`)).body;
    const { weeklyCap: _cap, scheduledDate: _date, ...shown } = { scheduledDate: null, ...more };
    const preview = (await call('POST', '/campaigns/preview', { ...SMS, destinations, ...shown })).body;
    expect([reviewed.total, reviewed.skipped, reviewed.overWeeklyCap, reviewed.maxPrice]).toEqual([
      goal.totalDestinations,
      goal.skipped,
      goal.overWeeklyCap,
      goal.estimatedCost,
    ]);
    const skips = preview.data.filter(({ skip }: { skip: string | null }) => skip !== null).length;
    seen.push([reviewed.total, skips, reviewed.overWeeklyCap, reviewed.maxPrice]);
  }
  expect(seen).toEqual([
    [2, 1, 1, 0.07],
    [3, 0, 0, 0.105],
    [2, 1, 0, 0.07],
    [2, 1, 0, 0.18],
  ]);
});

test('every channel of a mode has its reachable people and its price, also the one that is not the dearest', async () => {
  const rcs = { rcsAgentId: 'none', rcsTemplateId: 'r1' };
  const { channels, maxPrice, expectedPrice, problems } = await review({
    ...SMS,
    ...rcs,
    sendingMode: 'RCS_SMS',
    destinations: NUMBERS,
  });
  expect(channels).toEqual([
    { channel: 'RCS', reachable: 2, first: 2, tried: 2, deliveryRate: null, expectedPrice: 0.1, priceOfAll: 0.1 },
    { channel: 'SMS', reachable: 2, first: 0, tried: 0, deliveryRate: null, expectedPrice: 0, priceOfAll: 0.07 },
  ]);
  expect([expectedPrice, maxPrice]).toEqual([0.1, 0.1]);
  expect(problems.map(({ field }: { field: string }) => field)).toEqual(['rcsAgentId']);
});

test('what is expected follows from what became of the messages of the account, as far as there are enough', async () => {
  const insert = (delivered: number, failed: number, accountId: number) =>
    exec(
      api.pool,
      sql`INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, delivered, failed)
          VALUES (${accountId}, date_trunc('hour', now()), 0, 1, 0, ${delivered}, ${failed})`,
    );
  const otherAccount = await api.newAccount();
  await insert(1000, 0, otherAccount.accountId);
  await insert(30, 10, account.accountId);
  const rate = async () => (await review({ ...SMS, destinations: NUMBERS })).channels[0].deliveryRate;
  expect(await rate()).toBeNull();
  await exec(api.pool, sql`UPDATE traffic_hour SET failed = 20 WHERE account_id = ${account.accountId}`);
  expect(await rate()).toBe(0.6);
});

test('a review of half a campaign says what is missing and counts what it can', async () => {
  expect(await review({ sendingMode: 'SMS' })).toMatchObject({
    total: 0,
    channels: [{ channel: 'SMS', reachable: 0 }],
  });
  const { total, skipped, problems } = await review({ sendingMode: 'SMS', destinations: NUMBERS });
  expect([total, skipped.text, problems.map(({ field }: { field: string }) => field)]).toEqual([
    0,
    2,
    ['smsSender', 'smsBody'],
  ]);
});

test('recipients excluded for a reason are shown page by page, and no others', async () => {
  const list = await listOf(7, 5);
  const shown = async (more: object) =>
    (await call('POST', '/campaigns/preview', { ...SMS, contactListIds: [list], skip: 'opted_out', ...more })).body
      .data;
  expect((await shown({ limit: 3 })).map(({ name }: { name: string }) => name)).toEqual(['P0', 'P1', 'P2']);
  expect((await shown({ limit: 3, offset: 3 })).map(({ name }: { name: string }) => name)).toEqual(['P3', 'P4']);
  expect(await shown({ skip: 'text' })).toEqual([]);
});

test('a test goes to one phone, filled in for a contact, and is not saved', async () => {
  const contact = (await call('POST', '/contacts', { phoneNumber: '+393332001234', firstName: 'Ana' })).body.id;
  const body = { ...SMS, phoneNumber: '+393339999999', contactId: contact };
  const { status, body: answer } = await call('POST', '/campaigns/preview/send', body);
  expect([status, answer.results]).toMatchObject([
    200,
    [{ phoneNumber: '+393339999999', channel: 'SMS', accepted: true }],
  ]);
  const sent = await many(api.pool, sql`SELECT destination, body FROM message WHERE account_id = ${account.accountId}`);
  expect(sent).toEqual([{ destination: '+393339999999', body: 'Hi Ana' }]);
  await exec(api.pool, sql`UPDATE account SET default_country = 'IT' WHERE id = ${account.accountId}`);
  const { body: national } = await call('POST', '/campaigns/preview/send', { ...body, phoneNumber: '333 999 9998' });
  expect(national.results).toMatchObject([{ phoneNumber: '+393339999998', accepted: true }]);
});

test('a test names what the settings lack, a channel outside the mode, and an unknown contact', async () => {
  const fields = async (body: object) => {
    const { status, body: answer } = await call('POST', '/campaigns/preview/send', body);
    return [status, (answer.details ?? []).map(({ field }: { field: string }) => field)];
  };
  const to = { phoneNumber: '+393339999999' };
  expect(await fields({ ...to, sendingMode: 'SMS', smsBody: 'Hi' })).toEqual([400, ['smsSender']]);
  expect(await fields({ ...to, ...SMS, channel: 'RCS' })).toEqual([400, ['channel']]);
  expect(await fields({ ...to, ...SMS, contactId: 999_999_999 })).toEqual([400, ['contactId']]);
  expect(await fields({ ...SMS, phoneNumber: 'no phone' })).toEqual([400, ['phoneNumber']]);
});

test('lists and contacts need the scope for contacts', async () => {
  const few = await api.newKey(account, ['campaigns', 'SMS']);
  const asked = (path: string, body: object) => call('POST', `/campaigns/preview/${path}`, { ...SMS, ...body }, few);
  expect((await asked('review', { destinations: NUMBERS })).body).toMatchObject({ total: 2, maxPrice: null });
  expect((await asked('review', { contactListIds: [1] })).status).toBe(403);
  expect((await asked('send', { phoneNumber: '+393339999999', contactId: 1 })).status).toBe(403);
});

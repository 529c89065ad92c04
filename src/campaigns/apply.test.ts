import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { readBooks } from '../../test/support/money.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { runStep } from './run.ts';
import { startWhenDue } from './runner.ts';

const PRICE_MICROS = 35_000;

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
});

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object, headers?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body, headers);
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
const books = () => readBooks(api.pool, account.accountId);
const NUMBERS = ['+393331000001', '+393331000002'];

async function scheduled(more: object = {}): Promise<number> {
  const body = { name: 'Spring', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hello', readyToSend: true };
  const { id } = (
    await call('POST', '', { ...body, destinations: NUMBERS.slice(0, 1), scheduledDate: inHours(24), ...more })
  ).body;
  await call('POST', `/${id}/calculateGoal`);
  expect((await call('PUT', `/${id}/confirm`)).status).toBe(202);
  return id;
}

test('a scheduled campaign is changed in one step: it is priced again, stays scheduled, and its credit follows', async () => {
  const before = await books();
  const id = await scheduled();
  const { status, body } = await call('PUT', `/${id}/apply`, { smsBody: 'Hello again', destinations: NUMBERS });
  expect([status, body]).toMatchObject([
    200,
    { status: 1, smsBody: 'Hello again', totalDestinations: 2, confirmedAt: expect.any(String) },
  ]);
  expect(await books()).toMatchObject({
    available: before.available - 2 * PRICE_MICROS,
    frozen: before.frozen + 2 * PRICE_MICROS,
  });
});

test('moving it to another time keeps its confirmation', async () => {
  const id = await scheduled();
  const { confirmedAt } = (await call('GET', `/${id}`)).body;
  const { body } = await call('PUT', `/${id}/apply`, { scheduledDate: '2099-03-01T09:00:00Z' });
  expect(body).toMatchObject({ status: 1, confirmedAt, scheduledDate: '2099-03-01 09:00:00.000+0000' });
});

test('a refused change leaves everything as it was: the campaign stays scheduled with its text and its credit', async () => {
  const id = await scheduled();
  const before = { books: await books(), campaign: (await call('GET', `/${id}`)).body };
  const refusals = [
    { smsBody: 'Hello {{nobody}}' },
    { destinations: NUMBERS, maxPrice: 0.05 },
    { destinations: ['+390612345678'] },
    { scheduledDate: inHours(-1) },
  ];
  for (const change of refusals)
    expect([change, (await call('PUT', `/${id}/apply`, change)).status]).toEqual([change, 400]);
  const { ratePerSecond: _, ...now } = (await call('GET', `/${id}`)).body;
  expect({ books: await books(), campaign: now }).toMatchObject({ books: before.books, campaign: now });
  expect(now).toMatchObject({ smsBody: 'Hello', confirmedAt: before.campaign.confirmedAt, status: 1 });
});

test('more credit than there is refuses the change, and the reserve of the old version counts as available', async () => {
  account = await api.newAccount(2 * PRICE_MICROS);
  const id = await scheduled({ destinations: NUMBERS });
  expect((await call('PUT', `/${id}/apply`, { smsBody: 'Other' })).status).toBe(200);
  const three = [...NUMBERS, '+393331000003'];
  expect(await call('PUT', `/${id}/apply`, { destinations: three })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'credit' }] },
  });
  expect((await call('GET', `/${id}`)).body).toMatchObject({ status: 1, smsBody: 'Other', totalDestinations: 2 });
});

test('a draft is not applied, and a started campaign is not changed', async () => {
  const draft = (await call('POST', '', { name: 'D', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi' })).body.id;
  expect(await call('PUT', `/${draft}/apply`, { name: 'E' })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'status' }] },
  });
  const id = await scheduled();
  await exec(api.pool, sql`UPDATE campaign SET status = 2, started_at = now() WHERE id = ${id}`);
  expect((await call('PUT', `/${id}/apply`, { smsBody: 'Late' })).status).toBe(400);
  expect((await call('GET', `/${id}`)).body.smsBody).toBe('Hello');
});

test('against the start: it was changed and is sent as changed, or it was started and is sent as it was', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < 30; round++) {
    const id = await scheduled();
    await exec(api.pool, sql`UPDATE campaign SET scheduled_at = now() WHERE id = ${id}`);
    const job = { accountId: account.accountId, campaignId: id };
    const start = () => runStep({ pool: api.pool, tables: undefined as never }, job, () => [startWhenDue]);
    // The time of a campaign that is already due cannot be kept, so the change carries a new one.
    const change = { smsBody: 'Changed', scheduledDate: inHours(24) };
    const pair = [() => call('PUT', `/${id}/apply`, change), start];
    const [answer] =
      round % 2
        ? await Promise.all([pair[0]?.(), pair[1]?.()])
        : (await Promise.all([pair[1]?.(), pair[0]?.()])).toReversed();
    const { status } = answer as Awaited<ReturnType<typeof call>>;
    const now = (await call('GET', `/${id}`)).body;
    expect([status, now.status, now.smsBody]).toEqual(status === 200 ? [200, 1, 'Changed'] : [400, 2, 'Hello']);
    seen.add(String(status));
    expect((await books()).frozen % PRICE_MICROS).toBe(0);
  }
  // One order that is certain, whatever the race has shown.
  const id = await scheduled();
  const locked = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const start = transaction(api.pool, async (tx) => {
    await exec(tx, sql`SELECT FROM campaign WHERE id = ${id} FOR UPDATE`);
    locked.resolve();
    await asked.promise;
    await exec(tx, sql`UPDATE campaign SET status = 2, started_at = now() WHERE id = ${id}`);
  });
  await locked.promise;
  const late = call('PUT', `/${id}/apply`, { smsBody: 'Changed' });
  asked.resolve();
  await start;
  expect((await late).status).toBe(400);
  expect(await one(api.pool, sql`SELECT sms_body AS text FROM campaign WHERE id = ${id}`)).toEqual({ text: 'Hello' });
  expect(seen.size).toBeGreaterThan(0);
}, 60_000);

test('with an Idempotency-Key gets the first response again', async () => {
  const id = await scheduled();
  const headers = { 'idempotency-key': 'apply' };
  const first = await call('PUT', `/${id}/apply`, { smsBody: 'Other' }, headers);
  const second = await call('PUT', `/${id}/apply`, { smsBody: 'Other' }, headers);
  expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
});

test('a campaign of another account looks like an unknown one', async () => {
  const id = await scheduled();
  account = await api.newAccount();
  for (const path of [`/${id}`, '/999999999'])
    expect((await call('PUT', `${path}/apply`, { name: 'X' })).status).toBe(404);
});

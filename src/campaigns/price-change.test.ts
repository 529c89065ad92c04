import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { setPrice } from '../money/prices.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { insertTemplate } from '../templates/store.ts';
import { wakeCampaignsUsing } from './lifecycle.ts';
import { pauseDearer } from './price-change.ts';
import { type Job, runStep } from './run.ts';

const PRICES = { utility: 0.02, marketing: 0.07, authentication: 0.02 } as const;

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  const { pool, connectionId } = api;
  await insertTemplate(pool, {
    ownerId: null,
    name: 'news',
    language: 'en',
    category: 'UTILITY',
    status: 'APPROVED',
    headerLink: null,
    named: false,
    variables: [],
    channel: 'WHATSAPP',
    id: '7',
    connectionId,
    content: [{ type: 'BODY', text: 'Hello' }],
  });
  await exec(
    pool,
    sql`INSERT INTO sender (channel, identity, connection_id, name) VALUES ('WHATSAPP', '100', ${connectionId}, 'Acme')`,
  );
  for (const [category, price] of Object.entries(PRICES)) await set(price, { category });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
  await exec(api.pool, sql`UPDATE template SET category = 'UTILITY' WHERE id = '7'`);
});

const set = (price: number, more: object) =>
  transaction(api.pool, (tx) =>
    setPrice(tx, { by: 'Ada', channel: 'WHATSAPP', prefix: '', price, refundUndelivered: true, ...more }),
  );
const call = (method: Parameters<CampaignApi['call']>[1], path: string, body?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body);
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

async function calculated(more: object = {}): Promise<number> {
  const { body } = await call('POST', '', {
    name: 'News',
    sendingMode: 'WHATSAPP',
    whatsappPhoneNumberId: '100',
    whatsappTemplateId: '7',
    readyToSend: true,
    destinations: ['+393331000001', '+393331000002'],
    ...more,
  });
  expect((await call('POST', `/${body.id}/calculateGoal`)).status).toBeLessThan(300);
  return body.id;
}
const priceOf = async (id: number) => (await call('GET', `/${id}/price`)).body;

const step = (job: Job) => runStep({ pool: api.pool, tables: undefined as never }, job, () => [pauseDearer]);

/** Simulates that Meta puts the template into another category. */
const recategorize = (category: string) =>
  transaction(api.pool, async (tx) => {
    await exec(tx, sql`UPDATE template SET category = ${category} WHERE id = '7'`);
    await wakeCampaignsUsing(tx, [{ channel: 'WHATSAPP', id: '7' }]);
  });

test('a campaign costs the price of the category of its template on the date for which it is scheduled', async () => {
  await set(0.03, { category: 'utility', validFrom: new Date(Date.now() + 48 * 3_600_000) });
  expect(await priceOf(await calculated({ scheduledDate: inHours(24) }))).toMatchObject({ price: 0.04 });
  expect(await priceOf(await calculated({ scheduledDate: inHours(72) }))).toMatchObject({ price: 0.06 });
});

test('a draft whose template is in another category now must be priced again before it is confirmed', async () => {
  const id = await calculated();
  await recategorize('MARKETING');
  expect(await priceOf(id)).toMatchObject({ calculated: false, price: 0.04 });
  expect((await call('PUT', `/${id}/confirm`)).status).toBe(400);
  await call('POST', `/${id}/calculateGoal`);
  expect(await priceOf(id)).toMatchObject({ calculated: true, price: 0.14 });
});

test.each([
  ['MARKETING', true],
  ['AUTHENTICATION', false],
])('a confirmed campaign whose template becomes %s is held: %s', async (category, held) => {
  const id = await calculated();
  expect((await call('PUT', `/${id}/confirm`)).status).toBe(202);
  await recategorize(category);
  const job = { accountId: account.accountId, campaignId: id };
  const campaign = () =>
    one<{ paused: boolean; reason: string | null }>(
      api.pool,
      sql`SELECT paused_at IS NOT NULL AS paused, failure_reason AS reason FROM campaign WHERE id = ${id}`,
    );
  await step(job);
  const reason = 'whatsappTemplateId 7: its category is marketing and no longer utility, which costs more';
  expect(await campaign()).toEqual({ paused: held, reason: held ? reason : null });
  if (!held) return;
  // A person has decided: it is sent at the price of its confirmation.
  expect((await call('PUT', `/${id}/resume`)).status).toBeLessThan(300);
  await step(job);
  expect((await campaign()).paused).toBe(false);
});

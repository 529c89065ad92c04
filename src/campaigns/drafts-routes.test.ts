import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { one, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';

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
const call = (method: Method, path: string, body?: object) => api.call(account.apiKey, method, path, body);
const save = (id: string, body: object) => call('PUT', `/campaign-drafts/${id}`, body);
const HALF = { version: 0, name: '', content: { smsBody: 'Hello {{first', contactListIds: [] } };

test('a draft is kept whatever is missing in it, and no campaign comes of it', async () => {
  const id = randomUUID();
  const { status, body } = await save(id, HALF);
  expect([status, body]).toMatchObject([200, { id, version: 1, campaignId: null, name: '', content: HALF.content }]);
  expect((await call('GET', `/campaign-drafts/${id}`)).body).toEqual(body);
  expect((await call('GET', '/campaign-drafts')).body).toMatchObject([{ id, version: 1 }]);
  expect((await call('GET', '/campaigns')).body.total).toBe(0);
});

test('a draft is changed only from the version that was seen, and a repeated request gets the same response as the first', async () => {
  const id = randomUUID();
  await save(id, HALF);
  const next = { version: 1, name: 'Sale', content: { smsBody: 'Hello' } };
  const first = await save(id, next);
  const again = await save(id, next);
  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  expect(await save(id, { ...next, content: { smsBody: 'Other' } })).toMatchObject({ status: 409 });
  expect(await save(id, HALF)).toMatchObject({ status: 409 });
  expect(await save(id, { ...next, version: 2, name: 'Sale 2' })).toMatchObject({ status: 200, body: { version: 3 } });
});

test('of many windows that save the same version one succeeds', async () => {
  const id = randomUUID();
  await save(id, HALF);
  const windows = Array.from({ length: 20 }, (_, n) => save(id, { version: 1, name: `${n}`, content: { n } }));
  const answers = (await Promise.all(windows)).map(({ status }) => status);
  expect(answers.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
});

test('a campaign has at most one draft, which goes with it', async () => {
  const made = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi' };
  const campaignId = (await call('POST', '/campaigns', made)).body.id;
  const [first, second] = [randomUUID(), randomUUID()];
  expect((await save(first, { ...HALF, campaignId })).status).toBe(200);
  expect((await save(second, { ...HALF, campaignId })).status).toBe(409);
  expect((await call('GET', `/campaign-drafts?campaignId=${campaignId}`)).body).toMatchObject([{ id: first }]);
  expect((await call('GET', `/campaigns/${campaignId}`)).body.smsBody).toBe('Hi');
  await call('DELETE', `/campaigns/${campaignId}`);
  expect((await call('GET', `/campaign-drafts/${first}`)).status).toBe(404);
});

test('drafts and campaigns of another account look like unknown ones', async () => {
  const id = randomUUID();
  await save(id, HALF);
  const made = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi' };
  const campaignId = (await call('POST', '/campaigns', made)).body.id;
  account = await api.newAccount();
  for (const draft of [id, randomUUID()]) {
    expect((await call('GET', `/campaign-drafts/${draft}`)).status).toBe(404);
    expect((await call('DELETE', `/campaign-drafts/${draft}`)).status).toBe(404);
    expect((await save(draft, { ...HALF, version: 1 })).status).toBe(404);
  }
  for (const foreign of [campaignId, 999_999_999])
    expect((await save(randomUUID(), { ...HALF, campaignId: foreign })).status).toBe(404);
  expect((await call('GET', '/campaign-drafts')).body).toEqual([]);
});

test('a deleted draft is gone, and an account holds at most 500', async () => {
  const id = randomUUID();
  await save(id, HALF);
  expect((await call('DELETE', `/campaign-drafts/${id}`)).status).toBe(204);
  expect((await call('GET', `/campaign-drafts/${id}`)).status).toBe(404);
  await one(
    api.pool,
    sql`WITH m AS (INSERT INTO campaign_draft (account_id, id, name, content, version)
          SELECT ${account.accountId}, gen_random_uuid(), '', '{}', 1 FROM generate_series(1, 500) RETURNING id)
        SELECT count(*) AS n FROM m`,
  );
  expect(await save(randomUUID(), HALF)).toMatchObject({ status: 400 });
});

test('all drafts of an account together have a bound, and a draft that passes it changes nothing', async () => {
  const id = randomUUID();
  await save(id, HALF);
  await one(
    api.pool,
    sql`WITH m AS (INSERT INTO campaign_draft (account_id, id, name, content, version)
          SELECT ${account.accountId}, gen_random_uuid(), '', jsonb_build_object('x', noise.text), 1
          FROM generate_series(1, 16), (SELECT string_agg(md5(n::text), '') AS text FROM generate_series(1, 120000) n) noise
          RETURNING id)
        SELECT count(*) AS n FROM m`,
  );
  const more = { version: 1, name: 'More', content: { smsBody: 'Hello' } };
  expect(await save(id, more)).toMatchObject({ status: 400, body: { details: [{ field: 'content' }] } });
  expect((await call('GET', `/campaign-drafts/${id}`)).body).toMatchObject({ version: 1, content: HALF.content });
});

test('saving needs the right to change campaigns', async () => {
  const few = await api.newKey(account, ['contacts']);
  expect((await api.call(few, 'PUT', `/campaign-drafts/${randomUUID()}`, HALF)).status).toBe(403);
});

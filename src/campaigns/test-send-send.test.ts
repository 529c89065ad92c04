import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { readBooks } from '../../test/support/money.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
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
const call = (method: Method, path: string, body?: object, headers?: object) =>
  api.call(account.apiKey, method, path, body, headers);
const SMS = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi {{firstName|you}}' };
const create = async (more: object = {}): Promise<number> =>
  (await call('POST', '/campaigns', { ...SMS, ...more })).body.id;
const newList = async (isTest: boolean): Promise<number> =>
  (await call('POST', '/contacts/list', { name: 'L', isTest })).body.id;
async function add(listId: number, phoneNumber: string, more: object = {}): Promise<void> {
  const { id } = (await call('POST', '/contacts', { phoneNumber, ...more })).body;
  await call('POST', '/contacts/list/contacts', { listIds: [listId], contactIds: [id] });
}
const sent = () =>
  many(
    api.pool,
    sql`SELECT m.destination, m.body, m.sender, m.source, m.campaign_id AS "campaignId", d.priority
        FROM message m JOIN dispatch_chunk d ON m.id = ANY(d.ids) WHERE m.account_id = ${account.accountId} ORDER BY 1`,
  );

test('contacts of test lists get the campaign as it is now, before other campaigns and outside of their figures', async () => {
  const [test1, test2, real] = [await newList(true), await newList(true), await newList(false)];
  await add(test1, '+393331000001', { firstName: 'Ana' });
  await add(test2, '+393331000002');
  await add(test2, '+393331000003', { optedOut: ['SMS'] });
  await add(test2, '+390612345678');
  await add(real, '+393331000004');
  const id = await create();
  const { status, body } = await call('POST', `/campaigns/${id}/test`);
  expect([status, body]).toEqual([
    200,
    {
      results: [
        {
          phoneNumber: '+390612345678',
          channel: null,
          accepted: false,
          messageId: null,
          reasons: ['no channel of the mode reaches the number'],
        },
        { phoneNumber: '+393331000001', channel: 'SMS', accepted: true, messageId: expect.any(String), reasons: [] },
        { phoneNumber: '+393331000002', channel: 'SMS', accepted: true, messageId: expect.any(String), reasons: [] },
        {
          phoneNumber: '+393331000003',
          channel: 'SMS',
          accepted: false,
          messageId: null,
          reasons: [expect.stringContaining('opted out')],
        },
      ],
    },
  ]);
  const message = { sender: 'ACME', source: 'CAMPAIGN', campaignId: null, priority: 0 };
  expect(await sent()).toEqual([
    { ...message, destination: '+393331000001', body: 'Hi Ana' },
    { ...message, destination: '+393331000002', body: 'Hi you' },
  ]);
  expect(await readBooks(api.pool, account.accountId)).toMatchObject({ frozen: 70_000 });
  expect((await call('GET', `/campaigns/${id}`)).body).toMatchObject({
    status: 0,
    totalSuccess: 0,
    totalPending: 0,
    actualCost: 0,
  });
});

test('with an Idempotency-Key it is sent once, and the audit log records it', async () => {
  await add(await newList(true), '+393331000001');
  const id = await create();
  const headers = { 'idempotency-key': 'try' };
  const first = await call('POST', `/campaigns/${id}/test`, {}, headers);
  const second = await call('POST', `/campaigns/${id}/test`, {}, headers);
  expect([first.status, second.body, (await sent()).length]).toEqual([200, first.body, 1]);
  const entries = await many(
    api.pool,
    sql`SELECT subject FROM audit_entry
    WHERE account_id = ${account.accountId} AND action = 'campaign.test'`,
  );
  expect(entries).toEqual([{ subject: `campaign:${id}` }]);
});

test('only test lists are accepted, with at least one and at most 100 contacts', async () => {
  const [real, empty] = [await newList(false), await newList(true)];
  const id = await create();
  const said = async (contactListIds?: number[]) => {
    const { status, body } = await call('POST', `/campaigns/${id}/test`, contactListIds && { contactListIds });
    return [status, body.details?.[0]?.message ?? null];
  };
  expect(await said()).toEqual([400, 'the test lists have no contacts with numbers']);
  expect(await said([real, 999_999_999, empty])).toEqual([400, `not test lists: ${real}, 999999999`]);
  await exec(
    api.pool,
    sql`WITH c AS (INSERT INTO contact (account_id, phone_number, is_valid, channels)
          SELECT ${account.accountId}, '+39333' || (1000000 + i), true, 7 FROM generate_series(1, 101) AS i RETURNING id)
        INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
        SELECT ${account.accountId}, ${empty}, id, '' FROM c`,
  );
  expect(await said([empty])).toEqual([400, 'the test lists have more than 100 contacts in total']);
  expect(await sent()).toEqual([]);
});

test('needs the scopes of its channels, and what the campaign itself needs', async () => {
  await add(await newList(true), '+393331000001');
  const id = await create();
  const few = await api.newKey(account, ['campaigns']);
  expect((await api.call(few, 'POST', `/campaigns/${id}/test`)).status).toBe(403);
  await call('PUT', '/account/campaigns', { smsSenders: [] });
  const { body } = await call('POST', `/campaigns/${id}/test`);
  expect(body.details).toEqual([{ field: 'smsSender', message: 'is not one of the senders that the account allows' }]);
  expect(await sent()).toEqual([]);
});

test('each contact gets a message on the first channel of the mode that reaches it', async () => {
  const { accountId } = account;
  const list = await newList(true);
  await add(list, '+393331000001', { firstName: 'Ana' });
  await add(list, '+393331000002');
  await exec(
    api.pool,
    sql`UPDATE contact SET channels = 1 WHERE account_id = ${accountId} AND phone_number = '+393331000002'`,
  );
  const agent = `agent-${accountId}`;
  const template = newId();
  await exec(
    api.pool,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
        VALUES ('RCS', ${agent}, ${api.connectionId}, ${accountId}, 'Agent')`,
  );
  await exec(
    api.pool,
    sql`INSERT INTO template (channel, id, owner_id, name, status, content, named, variables)
        VALUES ('RCS', ${template}, ${accountId}, 'T', 'APPROVED', '{"text": "Hi {{a}}"}', true, '{"firstName|you"}')`,
  );
  await api.reload();
  const rcs = { rcsAgentId: agent, rcsTemplateId: template, rcsTrafficType: 'PROMOTION' };
  const id = await create({ sendingMode: 'RCS_SMS', ...rcs });
  const { body } = await call('POST', `/campaigns/${id}/test`);
  expect(body.results).toMatchObject([
    { phoneNumber: '+393331000001', channel: 'RCS', accepted: true },
    { phoneNumber: '+393331000002', channel: 'SMS', accepted: true },
  ]);
  const stored = await many(
    api.pool,
    sql`SELECT channel, sender, body, content FROM message WHERE account_id = ${accountId} ORDER BY destination`,
  );
  expect(stored).toEqual([
    {
      channel: 'RCS',
      sender: agent,
      body: '',
      content: { template, channel: 'RCS', values: { 'firstName|you': 'Ana' }, trafficType: 'PROMOTION' },
    },
    { channel: 'SMS', sender: 'ACME', body: 'Hi you', content: null },
  ]);
});

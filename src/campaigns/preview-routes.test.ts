import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { exec, one, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { insertTemplate } from '../templates/store.ts';

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  const made = { language: 'en', category: '', headerLink: null, named: false, ownerId: null, connectionId: null };
  const content = { text: 'RCS for {{who}}' };
  const template = { ...made, channel: 'RCS', id: 'r1', name: 'r1', status: 'APPROVED' } as const;
  await insertTemplate(api.pool, { ...template, content, variables: ['firstName|friend'] });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
});

const SMS = { sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi {{firstName|you}} of {{city}}' };
const call = (method: 'GET' | 'POST', path: string, body?: object, key = account.apiKey) =>
  api.call(key, method, path, body);
const preview = async (body: object) => (await call('POST', '/campaigns/preview', body)).body;
const addContact = async (phoneNumber: string | undefined, more: object = {}): Promise<number> =>
  (await call('POST', '/contacts', { phoneNumber, ...more })).body.id;
async function addList(contactIds: readonly number[]): Promise<number> {
  const { id } = (await call('POST', '/contacts/list', { name: 'L' })).body;
  await call('POST', '/contacts/list/contacts', { listIds: [id], contactIds });
  return id;
}
const numberOf = (n: number): string => `+39333100${String(n).padStart(4, '0')}`;

test('each recipient gets the text that would be sent, with its parts and its price', async () => {
  await call('POST', '/contacts/fields', { name: 'city', type: 'text' });
  const ana = await addContact(numberOf(1), { firstName: 'Ana', customFields: { city: 'Łódź' } });
  const bob = await addContact(numberOf(2), { lastName: 'Bo' });
  const list = await addList([ana, bob]);
  const { data, ...rest } = await preview({ ...SMS, contactListIds: [list] });
  expect(data).toEqual([
    {
      contactId: ana,
      name: 'Ana',
      phoneNumber: numberOf(1),
      missing: [],
      skip: null,
      steps: [
        {
          channel: 'SMS',
          text: 'Hi Ana of Łódź',
          parts: 1,
          encoding: 'UCS-2',
          replaced: [],
          unitPrice: expect.any(Number),
          reachable: true,
        },
      ],
    },
    {
      contactId: bob,
      name: 'Bo',
      phoneNumber: numberOf(2),
      missing: ['firstName', 'city'],
      skip: null,
      steps: [expect.objectContaining({ text: 'Hi you of ', encoding: 'GSM-7' })],
    },
  ]);
  expect(rest).toMatchObject({ total: 2, currency: 'EUR', problems: [] });
  expect(rest.placeholders).toEqual(
    expect.arrayContaining([
      { name: 'firstName', custom: false, filled: 1 },
      { name: 'name', custom: false, filled: 2 },
      { name: 'city', custom: true, filled: 1 },
    ]),
  );
});

test('skipped recipients and their reasons match the audience', async () => {
  const fixed = await addContact('+390612345678');
  const gone = await addContact(numberOf(3), { optedOut: ['SMS'] });
  const fine = await addContact(numberOf(4));
  const nowhere = await addContact(undefined, { email: 'a@example.com', firstName: 'E' });
  const ids = [fixed, gone, fine, nowhere];
  const { data } = await preview({ ...SMS, smsBody: 'Hi', contactIds: ids });
  const skips = new Map(data.map((row: { contactId: number; skip: string }) => [row.contactId, row.skip]));
  expect(ids.map((id) => skips.get(id))).toEqual(['unsupported', 'opted_out', null, 'invalid']);
  const created = await call('POST', '/campaigns', {
    name: 'C',
    ...SMS,
    smsBody: 'Hi',
    contactListIds: [await addList(ids)],
  });
  const audience = (await call('POST', `/campaigns/${created.body.id}/calculateGoal`)).body;
  expect(audience.skipped).toMatchObject({ unsupported: 1, optedOut: 1, invalid: 1 });
  expect(audience.totalDestinations).toBe(1);
});

test('a combined mode has a step for each of its channels, templates filled', async () => {
  const ana = await addContact(numberOf(5), { firstName: 'Ana' });
  const ben = await addContact(numberOf(6), { optedOut: ['RCS'] });
  const body = { ...SMS, smsBody: 'Hi', sendingMode: 'RCS_SMS', rcsAgentId: 'none', rcsTemplateId: 'r1' };
  const { data, problems } = await preview({ ...body, contactIds: [ana, ben] });
  expect(data.map((row: { steps: object[] }) => row.steps)).toMatchObject([
    [
      { channel: 'RCS', text: 'RCS for Ana', parts: 1, encoding: null, reachable: true },
      { channel: 'SMS', text: 'Hi' },
    ],
    [
      { channel: 'RCS', text: 'RCS for friend', reachable: false },
      { channel: 'SMS', reachable: true },
    ],
  ]);
  expect(data[1].missing).toEqual(['firstName']);
  expect(problems).toEqual([
    { field: 'rcsAgentId', message: 'unknown: GET /api/message-server/rcs/agents lists them, as agentId' },
  ]);
});

test('numbers are shown with the fields of their contacts', async () => {
  await addContact(numberOf(7), { firstName: 'Ana' });
  const numbers = [numberOf(8), numberOf(7), 'no number'];
  const { data, total } = await preview({ ...SMS, smsBody: '{{name}}', destinations: numbers });
  expect(total).toBe(2);
  expect(data).toMatchObject([
    { phoneNumber: numberOf(7), name: 'Ana', steps: [{ text: 'Ana' }] },
    { phoneNumber: numberOf(8), contactId: null, name: '', steps: [{ text: numberOf(8) }] },
  ]);
});

test('limit and offset walk through the recipients', async () => {
  const ids = [];
  for (let n = 20; n < 28; n++) ids.push(await addContact(numberOf(n)));
  const list = await addList(ids);
  const shown = async (more: object) =>
    (await preview({ ...SMS, contactListIds: [list], ...more })).data.map(
      (row: { contactId: number }) => row.contactId,
    );
  expect(await shown({})).toEqual(ids.slice(0, 5));
  expect(await shown({ limit: 3, offset: 6 })).toEqual(ids.slice(6));
  expect(await shown({ offset: 100 })).toEqual([]);
});

test('faults are reported and not refused; an unknown field is replaced by its default', async () => {
  const { data, problems } = await preview({
    sendingMode: 'SMS',
    smsBody: 'Hi {{nick|pal}}',
    destinations: [numberOf(9)],
  });
  expect(data[0].steps[0].text).toBe('Hi pal');
  expect(problems.map(({ field }: { field: string }) => field).toSorted()).toEqual(['smsBody', 'smsSender']);
  expect(await preview({ sendingMode: 'SMS' })).toMatchObject({ data: [], total: 0 });
});

test('contacts and lists of another account look as if they did not exist', async () => {
  const [contact, list] = [await addContact(numberOf(10)), await addList([])];
  account = await api.newAccount();
  expect(await preview({ ...SMS, contactIds: [contact] })).toMatchObject({ data: [], total: 0 });
  expect(await preview({ ...SMS, contactListIds: [list] })).toMatchObject({
    data: [],
    total: 0,
    problems: expect.arrayContaining([expect.objectContaining({ field: 'contactListIds' })]),
  });
});

test('nothing is stored', async () => {
  await preview({ ...SMS, destinations: [numberOf(11)] });
  const { accountId } = account;
  expect(await one(api.pool, sql`SELECT count(*)::int AS n FROM campaign WHERE account_id = ${accountId}`)).toEqual({
    n: 0,
  });
});

test('it needs the scope campaigns, the scope contacts for contacts, and a plan with its channels', async () => {
  const few = await api.newKey(account, ['campaigns']);
  const asked = (body: object) => call('POST', '/campaigns/preview', { ...SMS, ...body }, few);
  expect((await asked({ destinations: [numberOf(12)] })).status).toBe(200);
  expect((await asked({ contactIds: [1] })).status).toBe(403);
  expect((await call('POST', '/campaigns/preview', SMS, await api.newKey(account, ['contacts']))).status).toBe(403);
  await exec(api.pool, sql`UPDATE account SET channels = 2 WHERE id = ${account.accountId}`);
  expect((await asked({})).status).toBe(403);
});

test('faulty fields are 400 and reported', async () => {
  const { status, body } = await call('POST', '/campaigns/preview', {
    sendingMode: 'FAX',
    limit: 21,
    contactIds: ['x'],
  });
  expect(status).toBe(400);
  const fields = body.details.map(({ field }: { field: string }) => field);
  expect(fields.toSorted()).toEqual(['contactIds[0]', 'limit', 'sendingMode']);
});

test('undeclared fields are named in warnings and ignored, whatever they contain', async () => {
  const others = { quietHours: 'x', scheduledDate: 7, name: null, destinationType: {}, rate: [], fallback: 'x' };
  const { body, status } = await call('POST', '/campaigns/preview', { ...SMS, ...others });
  const warnings = Object.keys(others).map((name) => expect.stringContaining(`unknown field ${name}`));
  expect([status, body]).toEqual([200, { ...(await preview(SMS)), warnings: expect.arrayContaining(warnings) }]);
});

test('placeholders are the standard fields and the custom fields', async () => {
  await call('POST', '/contacts/fields', { name: 'born', type: 'date', description: 'Birthday' });
  const { status, body } = await call('GET', '/contacts/placeholders');
  expect(status).toBe(200);
  expect(body).toHaveLength(8);
  expect(body.at(-1)).toEqual({ name: 'born', custom: true, type: 'date', description: 'Birthday' });
  expect(body[0]).toEqual({ name: 'fullName', custom: false, type: 'text', description: '' });
});

test('the traffic type is read as of a campaign: an unknown one is named', async () => {
  const rcs = { sendingMode: 'RCS', rcsAgentId: 'a', rcsTemplateId: 'r1', destinations: [numberOf(1)] };
  expect(await preview({ ...rcs, rcsTrafficType: 'PROMOTION' })).toMatchObject({ total: 1 });
  const wrong = await call('POST', '/campaigns/preview', { ...rcs, rcsTrafficType: 'SPAM' });
  expect(wrong).toMatchObject({ status: 400, body: { details: [{ field: 'rcsTrafficType' }] } });
});

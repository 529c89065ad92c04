import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { readBooks } from '../../test/support/money.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { many, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';

const IN_A_DAY = new Date(Date.now() + 86_400_000);
const SMS = { name: 'Spring', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hello {{firstName|you}}' };
const NUMBERS = ['+393331000001', '+393331000002', '+393331000003'];

let api: CampaignApi;
let account: NewAccount;
let otherAccount: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  otherAccount = await api.newAccount();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await api.newAccount();
});

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object, headers?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body, headers);
const create = async (more: object = {}) => (await call('POST', '', { ...SMS, ...more })).body;
type Fault = { readonly field: string; readonly message: string };
/** Returns the status and the message for each field. */
const faultsOf = async (answer: ReturnType<typeof call>): Promise<[number, Record<string, string>]> => {
  const { status, body } = await answer;
  const faults: readonly Fault[] = body.details ?? [];
  return [status, Object.fromEntries(faults.map(({ field, message }) => [field, message]))];
};
const newList = async (key = account.apiKey, more: object = {}) =>
  (await api.call(key, 'POST', '/contacts/list', { name: 'List', ...more })).body.id as number;
async function newContact(listIds: readonly number[], phoneNumber: string, more: object = {}): Promise<number> {
  const { id } = (await api.call(account.apiKey, 'POST', '/contacts', { phoneNumber, ...more })).body;
  await api.call(account.apiKey, 'POST', '/contacts/list/contacts', { listIds, contactIds: [id] });
  return id;
}
const priced = async (more: object = {}): Promise<number> => {
  const { id } = await create({ destinations: NUMBERS, readyToSend: true, ...more });
  await call('POST', `/${id}/calculateGoal`);
  return id;
};

describe('creating', () => {
  test('a campaign has every field of the specification, and ours', async () => {
    const { status, body } = await call('POST', '', { ...SMS, destinations: NUMBERS, description: 'All of them' });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...SMS,
      id: expect.any(Number),
      description: 'All of them',
      status: 0,
      rcsAgentId: null,
      rcsTemplateId: null,
      rcsTrafficType: null,
      whatsappPhoneNumberId: null,
      whatsappTemplateId: null,
      contactListIds: [],
      destinations: NUMBERS,
      destinationType: 2,
      scheduledDate: null,
      readyToSend: false,
      fallback: {},
      quietHours: null,
      purpose: null,
      respectCalendar: null,
      localTime: null,
      weeklyCap: null,
      encoding: null,
      tlvs: null,
      held: [],
      rate: null,
      skipped: null,
      overWeeklyCap: null,
      progress: 0,
      ratePerSecond: null,
      estimatedSecondsLeft: null,
      openMessages: 0,
      completesBy: null,
      paused: false,
      cancelled: false,
      totalDestinations: 0,
      totalSuccess: 0,
      totalFailed: 0,
      totalDeliveredTwice: 0,
      totalPending: 0,
      totalSkipped: 0,
      totalCancelled: 0,
      estimatedCost: 0,
      actualCost: 0,
      currency: 'EUR',
      goalCalculatedAt: null,
      failureReason: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      confirmedAt: null,
      startedAt: null,
      completedAt: null,
    });
    expect((await call('GET', `/${body.id}`)).body).toEqual(body);
  });

  test('readyToSend makes it ready, a draft may have no recipients, and dates are accepted in both forms', async () => {
    const scheduledDate = IN_A_DAY.toISOString();
    expect(await create({ readyToSend: true, scheduledDate })).toMatchObject({
      status: 1,
      readyToSend: true,
      destinationType: null,
      scheduledDate: scheduledDate.replace('T', ' ').replace('Z', '+0000'),
    });
    const local = '2099-01-31 09:00:00.000+0100';
    expect(await create({ scheduledDate: local })).toMatchObject({ scheduledDate: '2099-01-31 08:00:00.000+0000' });
  });

  test('what is not set may be null, and a draft can be changed to what its own response says', async () => {
    const unset = {
      description: null,
      destinationType: null,
      destinations: null,
      contactListIds: null,
      readyToSend: null,
    };
    const draft = await create({ ...unset, scheduledDate: null, fallback: null });
    expect(draft).toMatchObject({ status: 0, destinationType: null, destinations: [] });
    expect((await call('PUT', `/${draft.id}`, draft)).status).toBe(200);
  });

  test('the fields of every channel of the mode are required, even for a draft', async () => {
    const bare = { name: 'Bare' };
    const required = {
      SMS: ['smsSender', 'smsBody'],
      RCS: ['rcsAgentId', 'rcsTemplateId'],
      WHATSAPP: ['whatsappPhoneNumberId', 'whatsappTemplateId'],
    };
    for (const sendingMode of [
      'SMS',
      'RCS',
      'WHATSAPP',
      'RCS_SMS',
      'WHATSAPP_SMS',
      'WHATSAPP_RCS',
      'WHATSAPP_RCS_SMS',
    ]) {
      const [status, faults] = await faultsOf(call('POST', '', { ...bare, sendingMode }));
      const fields = Object.entries(required).flatMap(([channel, names]) =>
        sendingMode.split('_').includes(channel) ? names : [],
      );
      expect([sendingMode, status, Object.keys(faults).toSorted()]).toEqual([sendingMode, 400, fields.toSorted()]);
    }
  });

  test('every fault is reported with its field, and nothing is created', async () => {
    const foreign = await newList(otherAccount.apiKey);
    const gone = await newList();
    await api.call(account.apiKey, 'DELETE', `/contacts/list?ids=${gone}`);
    const wrong = { smsSender: 'this is far too long a sender', smsBody: 'Hi {{nick}}, {{first name}}' };
    expect(
      await faultsOf(call('POST', '', { ...SMS, ...wrong, contactListIds: [foreign, gone, 999_999_999] })),
    ).toEqual([
      400,
      {
        smsSender: 'must have at most 25 characters',
        smsBody: 'no contact has the fields {{nick}}, {{first name}}',
        contactListIds: `unknown: ${foreign}, ${gone}, 999999999`,
      },
    ]);
    expect(
      await faultsOf(
        call('POST', '', { ...SMS, ...wrong, smsSender: 'not a sender', contactListIds: [foreign, gone, 999_999_999] }),
      ),
    ).toEqual([
      400,
      {
        smsSender: 'must have 1 to 11 letters and digits, or be a number of up to 16 digits',
        smsBody: 'no contact has the fields {{nick}}, {{first name}}',
        contactListIds: `unknown: ${foreign}, ${gone}, 999999999`,
      },
    ]);
    expect((await call('GET', '')).body.total).toBe(0);
  });

  test.each([
    [{ name: '  ' }, { name: 'must not be empty' }],
    [{ name: 'x'.repeat(201) }, { name: 'must have at most 200 characters' }],
    [{ sendingMode: 'FAX' }, { sendingMode: expect.stringContaining('must be one of SMS') }],
    [
      { contactListIds: [1], destinations: NUMBERS },
      { contactListIds: expect.any(String), destinations: expect.any(String) },
    ],
    [
      { destinationType: 1, destinations: NUMBERS },
      { destinationType: expect.stringContaining('1 means contact lists') },
    ],
    [
      { destinationType: 2, contactListIds: [1] },
      { destinationType: expect.stringContaining('2 means destinations'), contactListIds: 'unknown: 1' },
    ],
    [{ destinationType: 3 }, { destinationType: 'must be one of 1, 2' }],
    [{ scheduledDate: '2020-01-31 09:00:00.000+0100' }, { scheduledDate: 'must be in the future' }],
    [{ scheduledDate: 'tomorrow' }, { scheduledDate: expect.stringContaining('must be a date such as') }],
    [
      { scheduledDate: '2099-02-30 09:00:00.000+0100' },
      { scheduledDate: expect.stringContaining('must be a date such as') },
    ],
    [{ smsBody: 'x'.repeat(1531) }, { smsBody: 'needs more than 10 parts' }],
    [{ smsBody: 'Hi {{name}}, {{firstName' }, { smsBody: 'has {{ without a closing }}' }],
    [{ quietHours: { from: '24:00', to: '08:00' } }, { 'quietHours.from': 'must be a time such as 21:00' }],
    [{ quietHours: { from: '08:00', to: '08:00' } }, { 'quietHours.to': 'must differ from quietHours.from' }],
    [{ rate: 0 }, { rate: 'must be at least 1' }],
    [{ fallback: { after: { RCS: 29 } } }, { 'fallback.after.RCS': 'must be at least 30' }],
    [{ fallback: { onStatus: ['DELETED'] } }, { 'fallback.onStatus[0]': expect.any(String) }],
    [{ readyToSend: 'yes' }, { readyToSend: 'must be true or false' }],
    [{ destinations: [393331000001] }, { 'destinations[0]': 'must be a string' }],
  ])('%o is refused', async (wrong, faults) => {
    expect(await faultsOf(call('POST', '', { ...SMS, ...wrong }))).toEqual([400, faults]);
  });

  test('unknown fields are ignored, and an Idempotency-Key creates one campaign', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await call('POST', '', { ...SMS, whatever: 1 }, headers);
    const second = await call('POST', '', { ...SMS, whatever: 1 }, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect((await call('GET', '')).body.total).toBe(1);
  });

  test('settings of the sender: what the account allows, and unknown agents, numbers and templates', async () => {
    await api.call(account.apiKey, 'PUT', '/account/campaigns', { smsSenders: ['ACME', '12345'] });
    expect(await faultsOf(call('POST', '', { ...SMS, smsSender: 'OTHER' }))).toEqual([
      400,
      { smsSender: 'is not one of the senders that the account allows' },
    ]);
    expect((await call('POST', '', SMS)).status).toBe(201);
    const ids = { rcsAgentId: 'none', rcsTemplateId: 'none', whatsappPhoneNumberId: '1', whatsappTemplateId: '2' };
    expect(await faultsOf(call('POST', '', { name: 'N', sendingMode: 'WHATSAPP_RCS', ...ids }))).toEqual([
      400,
      Object.fromEntries(
        Object.keys(ids).map((field) => [field, expect.stringMatching(/^unknown: GET \/api\/message-server\//)]),
      ),
    ]);
  });
});

describe('changing', () => {
  test('fields that are left out stay, and null removes a value', async () => {
    const { id } = await create({
      destinations: NUMBERS,
      scheduledDate: IN_A_DAY.toISOString(),
      rate: 5,
      description: 'x',
    });
    const { status, body } = await call('PUT', `/${id}`, { name: ' Summer ', scheduledDate: null, rate: null });
    expect([status, body]).toMatchObject([
      200,
      { name: 'Summer', description: 'x', scheduledDate: null, rate: null, destinations: NUMBERS },
    ]);
    expect((await call('PUT', `/${id}`, { readyToSend: true })).body.status).toBe(1);
    expect((await call('PUT', `/${id}`, { readyToSend: false })).body.status).toBe(0);
  });

  test('lists replace numbers, and numbers replace lists', async () => {
    const { id } = await create({ destinations: NUMBERS });
    const list = await newList();
    const recipients = async (body: object) => {
      const { contactListIds, destinations, destinationType } = (await call('PUT', `/${id}`, body)).body;
      return [destinationType, contactListIds, destinations];
    };
    expect(await recipients({ contactListIds: [list, list] })).toEqual([1, [list], []]);
    expect(await recipients({ destinations: NUMBERS })).toEqual([2, [], NUMBERS]);
    expect(await recipients({ destinations: [] })).toEqual([null, [], []]);
    expect(await recipients({ contactListIds: [list] })).toEqual([1, [list], []]);
  });

  test('all settings are checked again for the new mode', async () => {
    const { id } = await create();
    expect(await faultsOf(call('PUT', `/${id}`, { sendingMode: 'RCS_SMS' }))).toEqual([
      400,
      { rcsAgentId: 'is required for RCS', rcsTemplateId: 'is required for RCS' },
    ]);
    expect((await call('GET', `/${id}`)).body.sendingMode).toBe('SMS');
  });

  test('the audience is stale after a change of recipients, mode or text, and only then', async () => {
    const id = await priced();
    const isStale = async () => (await call('GET', `/${id}`)).body.goalCalculatedAt === null;
    await call('PUT', `/${id}`, {
      name: 'Other',
      description: 'Other',
      rate: 7,
      scheduledDate: IN_A_DAY.toISOString(),
    });
    expect(await isStale()).toBe(false);
    const changes = [
      { smsBody: 'Bye' },
      { smsSender: 'OTHER' },
      { destinations: NUMBERS.slice(1) },
      { rcsTrafficType: 'PROMOTION' },
    ];
    for (const change of changes) {
      await call('PUT', `/${id}`, change);
      expect([change, await isStale()]).toEqual([change, true]);
      await call('POST', `/${id}/calculateGoal`);
      expect([change, await isStale()]).toEqual([change, false]);
    }
  });

  test('a confirmed campaign cannot be changed, and one of another account looks like an unknown one', async () => {
    const id = await priced();
    await call('PUT', `/${id}/confirm`);
    expect(await faultsOf(call('PUT', `/${id}`, { name: 'Late' }))).toEqual([400, { status: expect.any(String) }]);
    const foreign = (await api.call(otherAccount.apiKey, 'POST', '/campaigns', SMS)).body.id;
    const withoutRequestId = async (path: string) => ({
      ...(await call('PUT', path, { name: 'x' })).body,
      requestId: '',
    });
    expect(await withoutRequestId(`/${foreign}`)).toEqual(await withoutRequestId('/999999999'));
    expect((await call('PUT', `/${foreign}`, { name: 'x' })).status).toBe(404);
  });
});

describe('the audience', () => {
  test('counts distinct recipients of many lists, skips by reason, and prices the text of each recipient', async () => {
    const [one, two] = [await newList(), await newList()];
    await newContact([one, two], '+393331000001', { firstName: 'Ana' });
    await newContact([two], '+393331000002', { firstName: 'x'.repeat(90) });
    await newContact([one], '+393331000003', { optedOut: ['SMS'] });
    // A fixed line, and a number that does not exist in Italy.
    await newContact([one], '+390612345678');
    await newContact([one], '+39312345');
    const { id } = await create({ contactListIds: [one, two], smsBody: `${'a'.repeat(100)}{{firstName}}` });
    const { status, body } = await call('POST', `/${id}/calculateGoal`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      totalDestinations: 2,
      totalSkipped: 3,
      totalPending: 2,
      estimatedCost: 0.105,
      goalCalculatedAt: expect.any(String),
      skipped: { invalid: 1, unsupported: 1, optedOut: 1, duplicate: 1, text: 0, noRoute: 0, noPrice: 0 },
    });
    expect((await call('GET', `/${id}/price`)).body).toEqual({
      campaignId: id,
      price: 0.105,
      currency: 'EUR',
      totalDestinations: 2,
      calculated: true,
      calculatedAt: body.goalCalculatedAt,
      breakdown: [
        { channel: 'SMS', country: 'IT', parts: 1, count: 1, unitPrice: 0.035, price: 0.035 },
        { channel: 'SMS', country: 'IT', parts: 2, count: 1, unitPrice: 0.035, price: 0.07 },
      ],
    });
  });

  test('leaves out contacts that the client restricted to other channels or marked as not valid', async () => {
    const list = await newList();
    await newContact([list], '+393331000011');
    await newContact([list], '+393331000012', { communicationSupported: ['WHATSAPP'] });
    await newContact([list], '+393331000013', { isValid: false });
    for (const recipients of [
      { destinations: undefined, contactListIds: [list] },
      { destinations: ['+393331000011', '+393331000012', '+393331000013'] },
    ]) {
      const { id } = await create(recipients);
      const { body } = await call('POST', `/${id}/calculateGoal`);
      expect(body).toMatchObject({ totalDestinations: 1, skipped: { invalid: 1, unsupported: 1 } });
    }
  });

  test('counts each number once, and invalid numbers as skipped', async () => {
    const destinations = ['+393331000001', '00393331000001', '+393331000002', 'nonsense', '+39'];
    const { id } = await create({ destinations });
    expect((await call('POST', `/${id}/calculateGoal`)).body).toMatchObject({
      totalDestinations: 2,
      totalSkipped: 2,
      skipped: { invalid: 2, duplicate: 1 },
      destinations,
    });
  });

  test('is stale when a list changes, and its price is shown as such', async () => {
    const list = await newList();
    await newContact([list], '+393331000001');
    const id = await priced({ destinations: undefined, contactListIds: [list] });
    expect((await call('GET', `/${id}/price`)).body.calculated).toBe(true);
    await newContact([list], '+393331000002');
    expect((await call('GET', `/${id}`)).body.goalCalculatedAt).toBeNull();
    expect((await call('GET', `/${id}/price`)).body).toMatchObject({ calculated: false, price: 0.035 });
  });

  test('that was never calculated has a price of 0 that says so; an unknown campaign has no price', async () => {
    const { id } = await create();
    expect((await call('GET', `/${id}/price`)).body).toMatchObject({
      price: 0,
      calculated: false,
      calculatedAt: null,
      breakdown: [],
    });
    for (const path of ['/999999999/price', '/999999999']) expect((await call('GET', path)).status).toBe(404);
    expect((await call('POST', '/999999999/calculateGoal')).status).toBe(404);
    expect((await call('POST', '/999999999/test')).status).toBe(404);
    expect((await call('GET', '/999999999/recipients')).status).toBe(404);
    expect((await call('GET', '/abc')).status).toBe(400);
  });
});

describe('deleting', () => {
  test('deletes a draft and a scheduled campaign, returns the credit, and refuses one that is being sent', async () => {
    const draft = await create();
    expect((await call('DELETE', `/${draft.id}`)).status).toBe(204);
    const scheduled = await priced({ scheduledDate: IN_A_DAY.toISOString() });
    const before = await readBooks(api.pool, account.accountId);
    expect((await call('PUT', `/${scheduled}/confirm`)).body).toMatchObject({
      status: 1,
      confirmedAt: expect.any(String),
    });
    expect(await readBooks(api.pool, account.accountId)).toMatchObject({
      frozen: 105_000,
      available: before.available - 105_000,
    });
    expect((await call('DELETE', `/${scheduled}`)).status).toBe(204);
    expect(await readBooks(api.pool, account.accountId)).toEqual({ ...before, frozen: 0 });
    for (const id of [draft.id, scheduled, 999_999_999]) expect((await call('DELETE', `/${id}`)).status).toBe(404);
    const sending = await priced();
    await call('PUT', `/${sending}/confirm`);
    expect((await call('DELETE', `/${sending}`)).status).toBe(404);
    expect((await call('GET', `/${sending}`)).body.status).toBe(2);
  });
});

describe('listing', () => {
  test('every filter returns the matching campaigns, newest first, with an exact total', async () => {
    const list = async (query: string) => {
      const { status, body } = await call('GET', `?${query}`);
      return status === 200 ? [body.total, body.data.map((c: { name: string }) => c.name)] : status;
    };
    await create({ name: 'Draft one', description: 'for Easter' });
    await create({ name: 'Ready', readyToSend: true });
    const id = await priced({ name: 'Programmed', scheduledDate: IN_A_DAY.toISOString() });
    await call('PUT', `/${id}/confirm`);
    await api.call(otherAccount.apiKey, 'POST', '/campaigns', { ...SMS, name: 'Foreign' });
    expect(await list('')).toEqual([3, ['Programmed', 'Ready', 'Draft one']]);
    expect(await list('direction=ASC&limit=2')).toEqual([3, ['Draft one', 'Ready']]);
    expect(await list('page=1&limit=2')).toEqual([3, ['Draft one']]);
    expect(await list('isDraft=true')).toEqual([1, ['Draft one']]);
    expect(await list('status=0')).toEqual([1, ['Draft one']]);
    expect(await list('status=1,2')).toEqual([2, ['Programmed', 'Ready']]);
    expect(await list('isDraft=false')).toEqual([2, ['Programmed', 'Ready']]);
    expect(await list('isProgrammed=true')).toEqual([1, ['Programmed']]);
    expect(await list('isProgrammed=false')).toEqual([2, ['Ready', 'Draft one']]);
    expect(await list('readyToSend=false')).toEqual([1, ['Draft one']]);
    expect(await list('search=EASTER')).toEqual([1, ['Draft one']]);
    expect(await list('search=%25')).toEqual([0, []]);
    expect(await list('sendingMode=SMS')).toEqual([3, ['Programmed', 'Ready', 'Draft one']]);
    expect(await list('sendingMode=RCS_SMS,RCS')).toEqual([0, []]);
    const day = (date: Date) => date.toISOString().slice(0, 10);
    expect(await list(`startDate=${day(IN_A_DAY)}&endDate=${day(IN_A_DAY)}`)).toEqual([1, ['Programmed']]);
    expect(await list(`startDate=${day(new Date(Date.now() - 86_400_000))}&endDate=${day(IN_A_DAY)}`)).toEqual([
      3,
      expect.any(Array),
    ]);
    expect(await list('startDate=2020-01-01&endDate=2020-01-31')).toEqual([0, []]);
    for (const wrong of [
      'startDate=2020-01-01',
      'endDate=2020-01-01',
      'startDate=2020-02-30&endDate=2020-03-01',
      'startDate=2020-03-02&endDate=2020-03-01',
      'sendingMode=FAX',
      'status=5',
      'direction=UP',
      'limit=1001',
      'page=-1',
    ])
      expect([wrong, await list(wrong)]).toEqual([wrong, 400]);
  });
});

test('the audit log records what a person does to a campaign, without its text', async () => {
  const id = await priced({ scheduledDate: IN_A_DAY.toISOString() });
  await call('PUT', `/${id}`, { smsBody: 'A secret offer' });
  await call('POST', `/${id}/calculateGoal`);
  await call('PUT', `/${id}/confirm`);
  await call('DELETE', `/${id}`);
  const entries = await listAuditEntries(api.pool, {
    accountId: account.accountId,
    action: null,
    subject: null,
    fromId: null,
    toId: null,
    limit: 100,
    offset: 0,
  });
  const actions = entries.filter(({ subject }) => subject === `campaign:${id}`).map(({ action }) => action);
  expect(actions.toSorted()).toEqual([
    'campaign.confirm',
    'campaign.create',
    'campaign.delete',
    'campaign.goal',
    'campaign.goal',
    'campaign.update',
  ]);
  expect(JSON.stringify(entries)).not.toContain('secret offer');
});

test('the policy of the account determines senders and quiet hours of its campaigns', async () => {
  const path = '/account/campaigns';
  expect((await api.call(account.apiKey, 'GET', path)).body).toEqual({ quietHours: null, smsSenders: null });
  const policy = { quietHours: { from: '21:00', to: '08:00' }, smsSenders: ['ACME'] };
  expect(await api.call(account.apiKey, 'PUT', path, policy)).toMatchObject({ status: 200, body: policy });
  const more = { quietHours: { ...policy.quietHours, until: '09:00' } };
  expect((await api.call(account.apiKey, 'PUT', path, more)).body.warnings).toHaveLength(1);
  const [stored] = await many(
    api.pool,
    sql`SELECT quiet_hours AS "quietHours" FROM campaign_policy WHERE account_id = ${account.accountId}`,
  );
  expect(stored).toEqual({ quietHours: policy.quietHours });
  expect((await api.call(account.apiKey, 'PUT', path, { quietHours: null })).body).toEqual({
    quietHours: null,
    smsSenders: ['ACME'],
  });
  const wrong = { quietHours: { from: '8:00', to: '08:00' }, smsSenders: ['ACME', 'not a sender at all'] };
  expect((await api.call(account.apiKey, 'PUT', path, wrong)).status).toBe(400);
  const answer = await api.call(account.apiKey, 'PUT', path, { smsSenders: ['ACME', 'no sender at all'] });
  expect(answer.body.details).toEqual([{ field: 'smsSenders[1]', message: expect.any(String) }]);
  expect((await api.call(otherAccount.apiKey, 'GET', path)).body.smsSenders).toBeNull();
  const few = await api.newKey(account, ['campaigns']);
  expect((await api.call(few, 'PUT', path, policy)).status).toBe(403);
});

test('a key without the scope money sees no amounts, and cannot ask for the price', async () => {
  const few = await api.newKey(account, ['campaigns', 'SMS']);
  const id = await priced();
  const one = (path: string, method: Method = 'GET') => api.call(few, method, `/campaigns${path}`);
  const answers = [await one(`/${id}`), await one(`/${id}/calculateGoal`, 'POST')].map(({ body }) => body);
  const listed = (await one('')).body.data;
  const amounts = [...answers, ...listed].map((campaign) => [campaign.estimatedCost, campaign.actualCost]);
  expect(amounts).toEqual([
    [null, null],
    [null, null],
    [null, null],
  ]);
  expect((await one(`/${id}/price`)).status).toBe(403);
  expect((await call('GET', `/${id}`)).body.estimatedCost).toBeGreaterThan(0);
});

test('a key without the scope can do nothing', async () => {
  const few = await api.newKey(account, ['contacts', 'SMS']);
  expect((await api.call(few, 'GET', '/campaigns')).status).toBe(403);
});

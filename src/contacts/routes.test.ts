import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRoutes } from '../../test/support/http/routes.ts';
import { apiKeyRoutes } from '../accounts/api-key-routes.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { updateNumberRules } from '../accounts/numbers.ts';
import { SCOPES } from '../core/actor.ts';
import { transaction } from '../core/db/transaction.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { recordLastContacts } from './contacts.ts';
import { updateLimits } from './limits.ts';
import { listRoutes } from './list-routes.ts';
import { contactRoutes } from './routes.ts';

let made = 0;
const { pool, account, otherAccount, newAccount, call, ...routes } = await openRoutes([
  apiKeyRoutes,
  listRoutes,
  contactRoutes,
]);
afterAll(() => routes[Symbol.asyncDispose]());

const numberOf = (n: number): string => `+39333${String(1_000_000 + n)}`;
const freshNumber = (): string => numberOf(made++);
async function create(body: object = {}, key?: string) {
  const { status, body: contact } = await call('POST', '/contacts', { phoneNumber: freshNumber(), ...body }, key);
  expect(status, JSON.stringify(contact)).toBe(201);
  return contact;
}
const idsOf = async (query: string, key?: string): Promise<number[]> => {
  const { status, body } = await call('GET', `/contacts?limit=1000&${query}`, undefined, key);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.total).toBe(body.data.length);
  return body.data.map((contact: { id: number }) => contact.id);
};
const fieldsOf = ({ body }: { body: { details: { field: string }[] } }): string[] => body.details.map((d) => d.field);

describe('what a client writes', () => {
  const change = async (id: number, body: object) => (await call('PUT', `/contacts/${id}`, body)).body;

  test('as name is the full name, unless that is given too or the display name comes back', async () => {
    const { id, ...contact } = await create({ name: ' Anna Rossi ' });
    expect(contact).toMatchObject({ fullName: 'Anna Rossi', name: 'Anna Rossi', firstName: null });
    expect(await change(id, { name: 'Anna Bianchi' })).toMatchObject({ fullName: 'Anna Bianchi' });
    expect(await change(id, { name: 'Nobody', fullName: 'Anna Verdi' })).toMatchObject({ fullName: 'Anna Verdi' });
    expect(await change(id, { name: null })).toMatchObject({ fullName: null });
    const nameless = await create();
    expect(await change(nameless.id, nameless)).toMatchObject({ fullName: null, name: nameless.phoneNumber });
  });

  test('as communicationSupported restricts the channels', async () => {
    const { id, ...contact } = await create({ communicationSupported: ['WHATSAPP', 'SMS'] });
    expect(contact.communicationSupported).toEqual(['SMS', 'WHATSAPP']);
    expect(await idsOf(`communicationSupported=RCS&contactIds=${id}`)).toEqual([]);
    expect(await change(id, { communicationSupported: [] })).toMatchObject({ communicationSupported: [] });
    const all = ['SMS', 'RCS', 'WHATSAPP'];
    expect(await change(id, { communicationSupported: all })).toMatchObject({ communicationSupported: all });
    const landline = await create({ phoneNumber: '+390698765432' });
    expect(landline.communicationSupported).toEqual(['WHATSAPP']);
    expect(await change(landline.id, { communicationSupported: all })).toMatchObject({
      communicationSupported: ['WHATSAPP'],
    });
    expect(fieldsOf(await call('PUT', `/contacts/${id}`, { communicationSupported: ['FAX'] }))).toEqual([
      'communicationSupported[0]',
    ]);
  });

  test('as isValid can take a number out, and back in only if its country has such numbers', async () => {
    const { id, ...contact } = await create({ isValid: false });
    expect(contact.isValid).toBe(false);
    expect(await change(id, { firstName: 'Anna' })).toMatchObject({ isValid: false });
    expect(await change(id, { isValid: true })).toMatchObject({ isValid: true });
    const withoutNumber = await create({ phoneNumber: null, email: 'a@example.com' });
    expect(fieldsOf(await call('PUT', `/contacts/${withoutNumber.id}`, { isValid: true }))).toEqual(['isValid']);
    const same = await create({ phoneNumber: null, email: 'a@example.com' });
    expect(same.id).not.toBe(withoutNumber.id);
  });
});

describe('creating', () => {
  test('returns 201 with the whole contact: number in E.164, names, supported channels', async () => {
    const phoneNumber = ' +39 (333) 765-4321';
    const { status, body } = await call('POST', '/contacts', {
      phoneNumber,
      firstName: ' Anna ',
      lastName: 'Rossi',
      email: 'Anna.Rossi@Example.com',
      gender: 'FEMALE',
      unknown: true,
    });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        firstName: 'Anna',
        lastName: 'Rossi',
        fullName: 'Anna Rossi',
        name: 'Anna Rossi',
        gender: 'FEMALE',
        phoneNumber: '+393337654321',
        email: 'anna.rossi@example.com',
        isValid: true,
        isTest: false,
        numberType: 'MOBILE',
        country: 'IT',
        communicationSupported: ['SMS', 'RCS', 'WHATSAPP'],
        lastContactType: null,
        lastContactDate: null,
        lastCampaignType: null,
        optedOut: [],
        customFields: {},
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
        warnings: ['unknown field unknown'],
      },
    ]);
    const { warnings: _, ...contact } = body;
    expect((await call('GET', `/contacts/${body.id}`)).body).toEqual(contact);
  });

  test('an e-mail address alone is enough; the display name is then the address', async () => {
    const { body } = await call('POST', '/contacts', { email: 'only@example.com' });
    expect(body).toMatchObject({
      name: 'only@example.com',
      phoneNumber: null,
      isValid: false,
      communicationSupported: [],
    });
  });

  test('a fixed line supports WhatsApp only, and an invalid number nothing', async () => {
    expect(await create({ phoneNumber: '+390612345678' })).toMatchObject({
      numberType: 'FIXED_LINE',
      communicationSupported: ['WHATSAPP'],
    });
    expect(await create({ phoneNumber: '+447700900123' })).toMatchObject({
      isValid: false,
      communicationSupported: [],
    });
  });

  test('the account’s country makes national numbers readable', async () => {
    const own = await newAccount();
    const body = { phoneNumber: '333 1234567' };
    expect((await call('POST', '/contacts', body, own.apiKey)).status).toBe(400);
    const rules = { defaultCountry: 'IT', numberChecks: 'strict' } as const;
    await updateNumberRules(pool, { accountId: own.accountId, ...rules });
    expect(await create(body, own.apiKey)).toMatchObject({ phoneNumber: '+393331234567' });
    expect(await idsOf('phoneNumber=333-1234567', own.apiKey)).toHaveLength(1);
  });

  test('a number that a contact has is 409 and names that contact, in whatever form it is written', async () => {
    const { id, phoneNumber } = await create();
    const { status, body } = await call('POST', '/contacts', { phoneNumber: phoneNumber.replace('+', '00') });
    expect([status, body.message, body.details]).toEqual([
      409,
      `The number belongs to contact ${id}`,
      [{ field: 'phoneNumber', message: `belongs to contact ${id}` }],
    ]);
    expect(await create({ phoneNumber }, otherAccount.apiKey)).toMatchObject({ phoneNumber });
  });

  test.for([
    [['phoneNumber', 'email'], {}],
    [['phoneNumber', 'email'], { phoneNumber: null, email: null, firstName: 'Anna' }],
    [['phoneNumber'], { phoneNumber: 'nonsense' }],
    [['phoneNumber'], { phoneNumber: '+39 12' }],
    [['phoneNumber'], { phoneNumber: 393_337_654_321 }],
    [['customFields.nope', 'phoneNumber'], { phoneNumber: 'x', customFields: { nope: 1 } }],
    [['optedOut'], { email: 'a@example.com', optedOut: ['SMS'] }],
    [['gender', 'isTest'], { phoneNumber: '+393337654329', gender: 'X', isTest: 'yes' }],
    [['email'], { email: 'nobody' }],
    [['email', 'phoneNumber'], { phoneNumber: 'nonsense', email: 'nobody' }],
    [['isTest', 'email', 'phoneNumber'], { isTest: 'yes', firstName: 'Anna' }],
    [
      ['customFields.nope', 'customFields.odd', 'gender', 'phoneNumber'],
      { gender: 'X', phoneNumber: 'x', customFields: { nope: 1, odd: [] } },
    ],
    [['phoneNumber'], { phoneNumber: 5, optedOut: ['SMS'] }],
    [['phoneNumber', 'email'], { phoneNumber: '', email: null, optedOut: ['SMS'] }],
  ] as const)('bad input is 400 naming %j', async ([fields, body]) => {
    const answer = await call('POST', '/contacts', body);
    expect([answer.status, fieldsOf(answer).sort()]).toEqual([400, [...fields].sort()]);
  });

  test('beyond the contact limit it is 403, and deleting makes room', async () => {
    const own = await newAccount();
    await updateLimits(pool, { accountId: own.accountId, planLimit: 1, extraLimit: 1 });
    const { id } = await create({}, own.apiKey);
    await create({}, own.apiKey);
    const limits = async () => (await call('GET', '/subscription/contacts', undefined, own.apiKey)).body;
    expect(await limits()).toEqual({ planLimit: 1, extraLimit: 1, totalLimit: 2, used: 2, remaining: 0 });
    expect(await call('POST', '/contacts', { phoneNumber: freshNumber() }, own.apiKey)).toMatchObject({
      status: 403,
      body: { message: 'The contact limit of the plan (2) is reached' },
    });
    await call('DELETE', `/contacts?ids=${id}`, undefined, own.apiKey);
    expect(await limits()).toMatchObject({ used: 1, remaining: 1 });
    expect((await call('GET', '/subscription/contacts')).body).toMatchObject({ totalLimit: null, remaining: null });
  });

  test('many at once never exceed the limit, and one number makes one contact', async () => {
    const own = await newAccount();
    await updateLimits(pool, { accountId: own.accountId, planLimit: 5, extraLimit: 0 });
    const all = await Promise.all(
      Array.from({ length: 12 }, () => call('POST', '/contacts', { phoneNumber: freshNumber() }, own.apiKey)),
    );
    expect(all.filter(({ status }) => status === 201)).toHaveLength(5);
    const phoneNumber = freshNumber();
    const same = await Promise.all(Array.from({ length: 6 }, () => call('POST', '/contacts', { phoneNumber })));
    expect(same.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });
});

describe('changing', () => {
  test('changes the given fields, removes those with null and leaves the rest', async () => {
    const { id, createdAt, ...before } = await create({ firstName: 'Anna', lastName: 'Rossi', email: 'a@example.com' });
    const { status, body } = await call('PUT', `/contacts/${id}`, { lastName: 'Bianchi', email: null, isTest: true });
    expect([status, body]).toEqual([
      200,
      {
        ...before,
        id,
        createdAt,
        lastName: 'Bianchi',
        fullName: 'Anna Bianchi',
        name: 'Anna Bianchi',
        email: null,
        isTest: true,
        updatedAt: expect.any(String),
      },
    ]);
  });

  test('a given full name stays until it is removed', async () => {
    const { id } = await create({ firstName: 'Anna', fullName: 'Dr. Anna' });
    const change = async (body: object) => (await call('PUT', `/contacts/${id}`, body)).body.fullName;
    expect(await change({ firstName: 'Maria' })).toBe('Dr. Anna');
    expect(await change({ fullName: null })).toBe('Maria');
    expect(await change({ firstName: null })).toBeNull();
  });

  test('cannot remove both number and address, nor use the number of another contact', async () => {
    const { id, phoneNumber } = await create();
    const other = await create();
    expect((await call('PUT', `/contacts/${id}`, { phoneNumber: null })).status).toBe(400);
    const taken = await call('PUT', `/contacts/${id}`, { phoneNumber: other.phoneNumber });
    expect([taken.status, taken.body.message]).toEqual([409, `The number belongs to contact ${other.id}`]);
    expect((await call('GET', `/contacts/${id}`)).body.phoneNumber).toBe(phoneNumber);
    expect((await call('PUT', `/contacts/${id}`, { phoneNumber })).status).toBe(200);
  });

  test.for([
    [['phoneNumber', 'email'], { phoneNumber: 'nonsense', email: 'nobody' }],
    [['phoneNumber', 'gender'], { phoneNumber: '+39 12', gender: 'X' }],
    [['gender', 'phoneNumber', 'email'], { gender: 'X', phoneNumber: null }],
    [['gender'], { gender: 'X', email: null }],
    [['email'], { email: 'nobody', phoneNumber: null }],
  ] as const)('bad input is 400 naming %j, and nothing is changed', async ([fields, body]) => {
    const before = await create();
    const answer = await call('PUT', `/contacts/${before.id}`, body);
    expect([answer.status, fieldsOf(answer).sort()]).toEqual([400, [...fields].sort()]);
    expect((await call('GET', `/contacts/${before.id}`)).body).toEqual(before);
  });

  test('faults of an input for a contact of another account reveal nothing about that contact', async () => {
    const { id } = await create({ email: 'a@example.com' }, otherAccount.apiKey);
    const wrong = async (at: number) =>
      (await call('PUT', `/contacts/${at}`, { gender: 'X', email: null })).body.details;
    expect(await wrong(id)).toEqual(await wrong(999_999_999));
  });
});

describe('a contact that is sent back with another number', () => {
  test('keeps the opt-outs and the validity of that number', async () => {
    const [number, taken] = [freshNumber(), freshNumber()];
    const { id: other } = (await call('POST', '/contacts', { phoneNumber: taken, optedOut: ['SMS'] })).body;
    await call('DELETE', `/contacts?ids=${other}`);
    const { id } = (await call('POST', '/contacts', { phoneNumber: number, isValid: false })).body;
    const { body } = await call('GET', `/contacts/${id}`);
    expect((await call('PUT', `/contacts/${id}`, { ...body, phoneNumber: taken })).status).toBe(200);
    expect((await call('GET', `/contacts/${id}`)).body).toMatchObject({
      phoneNumber: taken,
      isValid: true,
      optedOut: ['SMS'],
    });
  });

  test('an empty list of a new contact takes back no opt-out', async () => {
    const number = freshNumber();
    const { id: first } = (await call('POST', '/contacts', { phoneNumber: number, optedOut: ['SMS'] })).body;
    await call('DELETE', `/contacts?ids=${first}`);
    const { body } = await call('POST', '/contacts', { phoneNumber: number, optedOut: [] });
    expect((await call('GET', `/contacts/${body.id}`)).body.optedOut).toEqual(['SMS']);
  });
});

describe('deleting', () => {
  test('returns how many were deleted and which did not exist; an id of another account does not exist', async () => {
    const [a, b, foreign] = [await create(), await create(), await create({}, otherAccount.apiKey)];
    const { status, body } = await call('DELETE', `/contacts?ids=${a.id},${foreign.id},999999999,${a.id}`);
    expect([status, body]).toEqual([200, { deleted: 1, notFound: [foreign.id, 999_999_999].sort((x, y) => x - y) }]);
    expect((await call('GET', `/contacts/${a.id}`)).status).toBe(404);
    expect((await call('GET', `/contacts/${b.id}`)).status).toBe(200);
    expect((await call('GET', `/contacts/${foreign.id}`, undefined, otherAccount.apiKey)).status).toBe(200);
    const [entry] = await listAuditEntries(pool, {
      accountId: account.accountId,
      action: 'contact.delete',
      subject: null,
      fromId: null,
      toId: null,
      limit: 1,
      offset: 0,
    });
    expect(entry?.detail).toMatchObject({ deleted: 1 });
  });

  test('all except some: those stay, also in their lists, and the counts of the lists follow', async () => {
    const own = await newAccount();
    const contacts = [await create({}, own.apiKey), await create({}, own.apiKey), await create({}, own.apiKey)];
    const list = (await call('POST', '/contacts/list', { name: 'All' }, own.apiKey)).body;
    await call('POST', '/contacts/list/contacts', { listIds: [list.id], allContacts: true }, own.apiKey);
    const kept = contacts[1].id;
    expect((await call('DELETE', `/contacts?notIds=${kept},888888888`, undefined, own.apiKey)).body).toEqual({
      deleted: 2,
      notFound: [888_888_888],
    });
    expect(await idsOf('', own.apiKey)).toEqual([kept]);
    expect((await call('GET', `/contacts/list/${list.id}`, undefined, own.apiKey)).body.contactCount).toBe(1);
  });

  test.for(['', 'ids=1&notIds=2', 'ids=', 'ids=x', 'ids=1,,2'])('%j is 400 and deletes nothing', async (query) => {
    const before = (await call('GET', '/contacts')).body.total;
    expect((await call('DELETE', `/contacts?${query}`)).status).toBe(400);
    expect((await call('GET', '/contacts')).body.total).toBe(before);
  });
});

describe('listing', () => {
  let own: NewAccount;
  const ids: Record<string, number> = {};
  let lists: number[];
  beforeAll(async () => {
    own = await newAccount();
    const { accountId, apiKey } = own;
    await call('POST', '/contacts/fields', { name: 'City', type: 'text' }, apiKey);
    await call('POST', '/contacts/fields', { name: 'points', type: 'number' }, apiKey);
    const people = {
      anna: {
        fullName: 'anna Rossi',
        gender: 'FEMALE',
        phoneNumber: '+393330000001',
        customFields: { City: 'Rome' },
        optedOut: ['SMS'],
      },
      bert: {
        fullName: 'Bert 100%_\\',
        gender: 'MALE',
        phoneNumber: '+390612345678',
        customFields: { points: 3 },
        optedOut: ['RCS'],
      },
      carl: { fullName: 'Carl', isTest: true, phoneNumber: '+447700900123' },
      dora: { fullName: 'Dora', email: 'dora@Example.com' },
      none: { phoneNumber: '+393330000002' },
    };
    for (const [name, body] of Object.entries(people))
      ids[name] = (await call('POST', '/contacts', body, apiKey)).body.id;
    lists = [];
    for (const [name, contactIds] of [
      ['one', [ids['anna'], ids['bert']]],
      ['two', [ids['bert'], ids['dora']]],
    ] as const) {
      const { id } = (await call('POST', '/contacts/list', { name }, apiKey)).body;
      await call('POST', '/contacts/list/contacts', { listIds: [id], contactIds }, apiKey);
      lists.push(id);
    }
    await transaction(pool, async (tx) => {
      const at = new Date('2026-01-01T00:00:00Z');
      await recordLastContacts(tx, [
        { accountId, contactId: ids['anna'] ?? 0, channel: 'SMS', at, campaignType: null },
        { accountId, contactId: ids['bert'] ?? 0, channel: 'RCS', at, campaignType: 'RCS_SMS' },
      ]);
    });
  });

  const namesOf = async (query: string): Promise<string[]> =>
    (await idsOf(query, own.apiKey)).map((id) => Object.entries(ids).find((entry) => entry[1] === id)?.[0] ?? '?');

  test('is sorted by full name by default, case-insensitive, those without a name first', async () => {
    expect(await namesOf('')).toEqual(['none', 'anna', 'bert', 'carl', 'dora']);
    expect(await namesOf('sortOrder=desc')).toEqual(['dora', 'carl', 'bert', 'anna', 'none']);
  });

  test.for([
    ['search=ANNA', ['anna']],
    ['search=ros', ['anna']],
    ['search=333%20000', ['none', 'anna']],
    ['search=%2B39%20333-0000001', ['anna']],
    ['search=EXAMPLE.com', ['dora']],
    ['search=r', ['anna', 'bert', 'carl', 'dora']],
    [`search=${encodeURIComponent('%_\\')}`, ['bert']],
    [`search=${encodeURIComponent('%')}`, ['bert']],
    ['search=%20', ['none', 'anna', 'bert', 'carl', 'dora']],
    ['search=nobody', []],
    ['gender=FEMALE', ['anna']],
    ['isValid=true', ['none', 'anna', 'bert']],
    ['isTest=true', ['carl']],
    ['isTest=false&gender=MALE', ['bert']],
    ['communicationSupported=WHATSAPP', ['none', 'anna', 'bert']],
    ['communicationSupported=SMS,RCS', ['none', 'anna']],
    ['optedOut=SMS', ['anna']],
    ['optedOut=RCS,WHATSAPP', ['bert']],
    ['optedOut=SMS,RCS&sortOrder=desc', ['bert', 'anna']],
    ['createdFrom=2020-01-01T00:00:00Z&gender=MALE', ['bert']],
    ['createdFrom=2999-01-01T00:00:00Z', []],
    ['createdTo=2020-01-01T00:00:00+01:00', []],
    ['createdTo=2999-01-01T00:00:00Z&gender=MALE', ['bert']],
    ['phoneNumber=0039 333 0000001', ['anna']],
    ['phoneNumber=nonsense', []],
    ['email=DORA@example.com', ['dora']],
    ['lastContactType=SMS', ['anna']],
    ['lastCampaignType=rcs_sms', ['bert']],
    ['lastCampaignType=&email=&isTest=true', ['carl']],
    ['customField.city=Rome', ['anna']],
    ['customField.points=3', ['bert']],
    ['customField.points=4', []],
    ['includeDeleted=true', ['none', 'anna', 'bert', 'carl', 'dora']],
    ['sortBy=phoneNumber&isTest=false&communicationSupported=WHATSAPP', ['bert', 'anna', 'none']],
    ['sortBy=createdAt&sortOrder=desc', ['none', 'dora', 'carl', 'bert', 'anna']],
    ['sortBy=email&email=dora@example.com', ['dora']],
    ['sortBy=firstName&search=rossi', ['anna']],
    ['sortBy=lastName&search=rossi', ['anna']],
    ['sortBy=id&isTest=true', ['carl']],
    ['sortBy=updatedAt&isTest=true', ['carl']],
  ] as const)('%s finds %j', async ([query, names]) => {
    expect(await namesOf(query)).toEqual(names);
  });

  test('by lists: in at least one, in none, by ids, those of one list first', async () => {
    const [one, two] = lists;
    expect(await namesOf(`listIds=${one}`)).toEqual(['anna', 'bert']);
    expect(await namesOf(`listIds=${one},${two}`)).toEqual(['anna', 'bert', 'dora']);
    expect(await namesOf(`listIds=${one},${two}&sortOrder=desc&gender=MALE`)).toEqual(['bert']);
    expect(await namesOf(`listIds=${one},${two}&sortBy=phoneNumber&isValid=true`)).toEqual(['bert', 'anna']);
    expect(await namesOf(`listIds=${one}&notListIds=${two}`)).toEqual(['anna']);
    expect(await namesOf(`notListIds=${one},${two}`)).toEqual(['none', 'carl']);
    expect(await namesOf(`listIds=999999`)).toEqual([]);
    expect(await namesOf(`contactIds=${ids['carl']},${ids['anna']}`)).toEqual(['anna', 'carl']);
    expect(await namesOf(`sortPriorityListId=${two}`)).toEqual(['bert', 'dora', 'none', 'anna', 'carl']);
    expect(await namesOf(`sortPriorityListId=${two}&listIds=${one}`)).toEqual(['bert', 'anna']);
    expect(await namesOf(`sortPriorityListId=${two}&search=r`)).toEqual(['bert', 'dora', 'anna', 'carl']);
    const page = await call('GET', `/contacts/list/${two}/contacts?limit=1&page=1`, undefined, own.apiKey);
    expect(page.body).toMatchObject({ total: 2, page: 1, limit: 1, data: [{ id: ids['dora'] }] });
    expect((await call('GET', '/contacts/list/999999/contacts', undefined, own.apiKey)).status).toBe(404);
    expect((await call('GET', `/contacts/list/${two}/contacts`)).status).toBe(404);
  });

  test('pages add up to the whole with the same total, in any order', async () => {
    for (const query of ['', `sortPriorityListId=${lists[1]}`, 'search=r', `listIds=${lists}`, 'sortBy=phoneNumber']) {
      const whole = await idsOf(query, own.apiKey);
      const parts: number[] = [];
      for (let page = 0; page * 2 < whole.length + 2; page++) {
        const { body } = await call('GET', `/contacts?limit=2&page=${page}&${query}`, undefined, own.apiKey);
        expect(body.total, query).toBe(whole.length);
        parts.push(...body.data.map((contact: { id: number }) => contact.id));
      }
      expect(parts, query).toEqual(whole);
    }
  });

  test.for([
    ['sortBy=nonsense', 'sortBy'],
    ['sortOrder=up', 'sortOrder'],
    ['limit=1001', 'limit'],
    ['page=-1', 'page'],
    ['gender=X', 'gender'],
    ['isValid=maybe', 'isValid'],
    ['communicationSupported=FAX', 'communicationSupported'],
    ['optedOut=FAX', 'optedOut'],
    ['createdFrom=2026-11-01', 'createdFrom'],
    ['createdTo=2026-02-31T00:00:00Z', 'createdTo'],
    ['listIds=a', 'listIds'],
    ['lastContactType=FAX', 'lastContactType'],
    ['customField.nope=1', 'customField.nope'],
    ['customField.points=many', 'customField.points'],
  ] as const)('%s is 400 naming %s', async ([query, field]) => {
    const answer = await call('GET', `/contacts?${query}`, undefined, own.apiKey);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });

  test('dates that do not exist and unknown custom fields are reported together', async () => {
    const query = 'createdFrom=2026-02-30T00:00:00Z&createdTo=2026-02-31T00:00:00Z&customField.nope=1';
    const answer = await call('GET', `/contacts?${query}`, undefined, own.apiKey);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, ['createdFrom', 'createdTo', 'customField.nope']]);
  });
});

describe('custom fields', () => {
  test('have values of their type, under case-insensitive names; null removes a value', async () => {
    const own = await newAccount();
    const field = async (body: object) => call('POST', '/contacts/fields', body, own.apiKey);
    for (const [name, type] of [
      ['City', 'text'],
      ['points', 'number'],
      ['vip', 'boolean'],
      ['since', 'date'],
    ])
      expect((await field({ name, type })).status).toBe(201);
    const customFields = { city: 'Rome', POINTS: 1.5, vip: false, since: '2026-02-28' };
    const contact = await create({ customFields }, own.apiKey);
    expect(contact.customFields).toEqual({ City: 'Rome', points: 1.5, vip: false, since: '2026-02-28' });
    const changed = await call(
      'PUT',
      `/contacts/${contact.id}`,
      { customFields: { City: null, vip: true } },
      own.apiKey,
    );
    expect(changed.body.customFields).toEqual({ points: 1.5, vip: true, since: '2026-02-28' });
    const wrong = { City: 1, points: '1', vip: 'x', since: '2026-02-30' };
    const refused = await call('PUT', `/contacts/${contact.id}`, { customFields: wrong }, own.apiKey);
    expect([refused.status, fieldsOf(refused).sort()]).toEqual([
      400,
      ['customFields.City', 'customFields.points', 'customFields.since', 'customFields.vip'],
    ]);
    expect(await idsOf('customField.vip=true&customField.since=2026-02-28', own.apiKey)).toEqual([contact.id]);
  });

  test('every faulty field is reported, for a new field and for a change', async () => {
    const own = await newAccount();
    const wrong = async (method: 'POST' | 'PUT', path: string, body: object) => {
      const answer = await call(method, `/contacts/fields${path}`, body, own.apiKey);
      return [answer.status, fieldsOf(answer).sort()];
    };
    expect(await wrong('POST', '', { name: 'Email', type: 'money' })).toEqual([400, ['name', 'type']]);
    const { id } = (await call('POST', '/contacts/fields', { name: 'town', type: 'text' }, own.apiKey)).body;
    expect(await wrong('PUT', `/${id}`, { name: 'email', type: 'number' })).toEqual([400, ['name', 'type']]);
    expect(await wrong('PUT', `/${id}`, { name: '1st', type: 'number' })).toEqual([400, ['name', 'type']]);
    expect(await wrong('PUT', '/999999999', { name: 'email', description: 5 })).toEqual([400, ['description', 'name']]);
  });

  test('can be renamed, but not to another type or a taken name, and are deleted with their values', async () => {
    const own = await newAccount();
    const post = (body: object) => call('POST', '/contacts/fields', body, own.apiKey);
    const { id } = (await post({ name: 'town', type: 'text', description: 'Where' })).body;
    await post({ name: 'other', type: 'text' });
    const contact = await create({ customFields: { town: 'Rome' } }, own.apiKey);
    expect((await post({ name: 'TOWN', type: 'text' })).status).toBe(409);
    for (const name of ['fullName', 'PHONENUMBER', '1st', 'with blank', '__proto__'])
      expect((await post({ name, type: 'text' })).status, name).toBe(400);
    const put = (body: object, key = own.apiKey) => call('PUT', `/contacts/fields/${id}`, body, key);
    expect((await put({ type: 'number' })).status).toBe(400);
    expect((await put({ name: 'Other' })).status).toBe(409);
    expect((await put({ name: 'city' }, otherAccount.apiKey)).status).toBe(404);
    expect(await put({ name: 'City' })).toMatchObject({ status: 200, body: { name: 'City', description: 'Where' } });
    const shown = async () => (await call('GET', `/contacts/${contact.id}`, undefined, own.apiKey)).body.customFields;
    expect(await shown()).toEqual({ City: 'Rome' });
    expect((await call('GET', '/contacts/fields', undefined, own.apiKey)).body).toHaveLength(2);
    expect((await call('DELETE', `/contacts/fields/${id}`, undefined, otherAccount.apiKey)).status).toBe(404);
    expect((await call('DELETE', `/contacts/fields/${id}`, undefined, own.apiKey)).status).toBe(204);
    expect((await call('DELETE', `/contacts/fields/${id}`, undefined, own.apiKey)).status).toBe(404);
    expect(await shown()).toEqual({});
    const again = (await post({ name: 'City', type: 'number' })).body;
    expect([again.type, await shown()]).toEqual(['number', {}]);
  });
});

describe('consent', () => {
  test('is shown at the contact with source and time, and stays with the number when the contact is deleted', async () => {
    const { id, phoneNumber } = await create({ optedOut: ['SMS'] });
    expect((await call('PUT', `/contacts/${id}`, { optedOut: ['WHATSAPP', 'SMS'] })).body.optedOut).toEqual([
      'SMS',
      'WHATSAPP',
    ]);
    expect((await call('PUT', `/contacts/${id}`, { firstName: 'Anna' })).body.optedOut).toEqual(['SMS', 'WHATSAPP']);
    expect((await call('GET', `/contacts/${id}/opt-outs`)).body).toEqual([
      { channel: 'SMS', purpose: '*', source: 'API', createdAt: expect.stringMatching(/Z$/) },
      { channel: 'WHATSAPP', purpose: '*', source: 'API', createdAt: expect.stringMatching(/Z$/) },
    ]);
    await call('DELETE', `/contacts?ids=${id}`);
    const again = await create({ phoneNumber });
    expect(again.optedOut).toEqual(['SMS', 'WHATSAPP']);
    expect((await call('PUT', `/contacts/${again.id}`, { optedOut: [] })).body.optedOut).toEqual([]);
  });
});

test('an id of another account gets exactly the same response as an unknown id', async () => {
  const foreign = await create({}, otherAccount.apiKey);
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PUT', '', { firstName: 'x' }],
    ['GET', '/opt-outs', undefined],
  ] as const) {
    const answers = [];
    for (const id of [foreign.id, 999_999_999]) {
      const answer = await call(method, `/contacts/${id}${path}`, body);
      answers.push({ ...answer, body: { ...answer.body, requestId: '' } });
    }
    expect(answers[0]?.status).toBe(404);
    expect(answers[1]).toEqual(answers[0]);
  }
  expect(await idsOf(`contactIds=${foreign.id}`)).toEqual([]);
});

test('every operation needs the scope contacts', async () => {
  const operations = SCOPES.filter((scope) => scope !== 'contacts');
  const { apiKey } = (await call('POST', '/authentication', { operations })).body;
  const calls = [
    ['GET', '/contacts'],
    ['POST', '/contacts'],
    ['DELETE', '/contacts'],
    ['GET', '/contacts/1'],
    ['PUT', '/contacts/1'],
    ['GET', '/contacts/1/opt-outs'],
    ['GET', '/contacts/list/1/contacts'],
    ['GET', '/contacts/fields'],
    ['POST', '/contacts/fields'],
    ['PUT', '/contacts/fields/1'],
    ['DELETE', '/contacts/fields/1'],
    ['GET', '/subscription/contacts'],
  ] as const;
  for (const [method, path] of calls) expect((await call(method, path, undefined, apiKey)).status, path).toBe(403);
});

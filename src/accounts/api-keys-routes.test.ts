import { afterAll, describe, expect, test } from 'vitest';
import { openRoutes, PG } from '../../test/support/http/routes.ts';
import { SCOPES } from '../core/actor.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { apiKeyRoutes } from './api-key-routes.ts';
import { insertUser } from './users.ts';

const { pool, account, otherAccount, newAccount, call, ...routes } = await openRoutes([apiKeyRoutes], {
  base: `${PG}/authentication`,
  account: { plan: 'production' },
  otherAccount: { plan: 'trial' },
});
afterAll(() => routes[Symbol.asyncDispose]());

const create = async (body?: object, key?: string) => (await call('POST', '', body, key)).body;
const statusWith = async (key: string) => (await call('GET', '', undefined, key)).status;

describe('creating', () => {
  test('returns 201 with the value, which works, and never shows it again', async () => {
    const expiresAt = '2040-01-31T10:00:00.000+01:00';
    const { status, body } = await call('POST', '', {
      name: 'web shop',
      description: 'order texts',
      operations: ['keys', 'SMS'],
      expiresAt,
      unknown: 1,
    });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: 'web shop',
        description: 'order texts',
        apiKey: expect.stringMatching(/^pg_live_[\w-]{43}$/),
        operations: ['SMS', 'keys'],
        createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        expiresAt: '2040-01-31T09:00:00.000Z',
        warnings: ['unknown field unknown'],
      },
    ]);
    const list = await call('GET', '?limit=1000', undefined, body.apiKey);
    expect(list.status).toBe(200);
    expect(JSON.stringify(list.body)).not.toContain(body.apiKey);
    expect(
      JSON.stringify(await many(pool, sql`SELECT v::text, k::text FROM api_key_value v, api_key k`)),
    ).not.toContain(body.apiKey);
  });

  test('gives all scopes of the caller by default, and null means that it never expires', async () => {
    expect(await create({ expiresAt: null })).toMatchObject({ name: '', operations: [...SCOPES], expiresAt: null });
    expect(await create(undefined)).toMatchObject({ name: '', operations: [...SCOPES], expiresAt: null });
    const { apiKey } = await create({ operations: ['keys', 'inbox'] });
    expect(await create({}, apiKey)).toMatchObject({ operations: ['inbox', 'keys'] });
  });

  test('a key cannot grant a scope that it lacks itself', async () => {
    const { apiKey } = await create({ operations: ['keys', 'SMS'] });
    const { status, body } = await call('POST', '', { operations: ['SMS', 'RCS', 'media'] }, apiKey);
    expect([status, body.message]).toEqual([403, 'These credentials themselves lack the scopes RCS, media']);
  });

  test.for([
    ['operations', { operations: ['SMS', 'root'] }],
    ['operations', { operations: [] }],
    ['operations', { operations: 'SMS' }],
    ['name', { name: 'n'.repeat(201) }],
    ['name', { name: 5 }],
    ['expiresAt', { expiresAt: 'tomorrow' }],
    ['expiresAt', { expiresAt: '2020-01-01T00:00:00Z' }],
  ] as const)('a wrong %s is 400 and names the field: %j', async ([field, body]) => {
    const answer = await call('POST', '', body);
    expect(answer.status).toBe(400);
    expect(answer.body.details[0].field).toContain(field);
  });
});

describe('the number of keys of an account', () => {
  test('is what its plan allows, however many requests create them at once, and 409 says so', async () => {
    const { accountId, apiKey } = await newAccount({ name: 'Many', plan: 'trial', ratePerMinute: 0 });
    const made = await Promise.all(Array.from({ length: 30 }, () => call('POST', '', {}, apiKey)));
    const refused = made.filter(({ status }) => status === 409);
    expect(made.filter(({ status }) => status === 201)).toHaveLength(9);
    expect(refused).toHaveLength(21);
    expect(refused[0]?.body.message).toBe(
      'The account has 10 API keys and its plan allows 10: delete some first; expired keys count, too',
    );
    expect((await call('GET', '', undefined, apiKey)).body.total).toBe(10);
    const id = made.find(({ status }) => status === 201)?.body.id;
    expect((await call('POST', `/${id}/rotate`, {}, apiKey)).status).toBe(200);
    await call('DELETE', `/${id}`, undefined, apiKey);
    expect((await call('POST', '', {}, apiKey)).status).toBe(201);
    await exec(pool, sql`UPDATE account SET plan = 'production' WHERE id = ${accountId}`);
    expect((await call('POST', '', {}, apiKey)).status).toBe(201);
  });
});

describe('listing', () => {
  test('shows the keys of the account in pages, each with its maker and use, and its own account only', async () => {
    const { id, apiKey } = await create({ name: 'listed', operations: ['keys'] });
    const { body } = await call('GET', '?limit=1000');
    expect(body).toMatchObject({ page: 0, limit: 1000, total: body.data.length });
    expect(body.data.at(-1)).toEqual({
      id,
      name: 'listed',
      description: '',
      prefix: apiKey.slice(0, 12),
      username: 'acme',
      operations: ['keys'],
      trafficType: 'production',
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: null,
      purpose: null,
      status: 'active',
    });
    const second = await call('GET', '?limit=1&page=1');
    expect(second.body).toEqual({ data: [body.data[1]], page: 1, limit: 1, total: body.total });
    const foreign = await call('GET', '', undefined, otherAccount.apiKey);
    expect(foreign.body).toMatchObject({ total: 1, data: [{ username: 'neighbour', trafficType: 'trial' }] });
  });

  test('can be narrowed to the keys that one user made', async () => {
    const user = { accountId: account.accountId, username: 'second', passwordHash: 'x', role: 'admin' as const };
    const userId = (await insertUser(pool, user))?.id;
    const { id } = await create({ name: 'of second' });
    await exec(pool, sql`UPDATE api_key SET user_id = ${userId} WHERE id = ${id}`);
    expect((await call('GET', `?userId=${userId}`)).body).toMatchObject({
      total: 1,
      data: [{ id, username: 'second' }],
    });
    expect((await call('GET', `?userId=${userId}`, undefined, otherAccount.apiKey)).body).toMatchObject({
      total: 0,
      data: [],
    });
    expect((await call('GET', '?userId=x')).status).toBe(400);
  });

  test('an expired key is shown as such', async () => {
    const { id, apiKey } = await create();
    await exec(pool, sql`UPDATE api_key SET expires_at = now() WHERE id = ${id}`);
    expect((await call('GET', `/${apiKey}`)).body).toMatchObject({ id, status: 'expired' });
    expect(await statusWith(apiKey)).toBe(401);
    const expired = (await call('GET', '?status=expired&limit=100')).body;
    expect(expired.data.map((key: { id: number }) => key.id)).toEqual([id]);
    const active = (await call('GET', '?status=active&limit=100')).body;
    expect(active.data.map((key: { id: number }) => key.id)).not.toContain(id);
    expect([expired.total, active.total]).toEqual([1, active.data.length]);
    expect((await call('GET', '?status=gone')).status).toBe(400);
  });
});

describe('finding by value', () => {
  test('returns the key of a value of this account', async () => {
    const { id, apiKey } = await create({ name: 'found' });
    expect(await call('GET', `/${apiKey}`)).toMatchObject({
      status: 200,
      body: { id, name: 'found', status: 'active' },
    });
  });

  test("an unknown value, another account's and nonsense get the same response", async () => {
    const answers = [];
    for (const value of [`pg_live_${'A'.repeat(43)}`, otherAccount.apiKey, 'nonsense', '1']) {
      const { status, body } = await call('GET', `/${value}`);
      answers.push({ status, body: { ...body, requestId: '' } });
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 404, body: { message: 'Not found' } });
  });
});

describe('rotating', () => {
  test('gives a new value with the same id and scopes; the old one stops working at once without grace', async () => {
    const key = await create({ name: 'rotated', operations: ['keys', 'SMS'] });
    const { status, body } = await call('POST', `/${key.id}/rotate`);
    expect([status, { ...body, apiKey: '' }]).toEqual([200, { ...key, apiKey: '' }]);
    expect([await statusWith(body.apiKey), await statusWith(key.apiKey)]).toEqual([200, 401]);
    expect((await call('GET', `/${key.apiKey}`)).status).toBe(404);
    expect((await call('GET', `/${body.apiKey}`)).body.prefix).toBe(body.apiKey.slice(0, 12));
  });

  test('with grace both values work, and both find the same key', async () => {
    const { id, apiKey: old } = await create();
    const { apiKey: fresh } = (await call('POST', `/${id}/rotate`, { graceSeconds: 604_800 })).body;
    expect([await statusWith(fresh), await statusWith(old)]).toEqual([200, 200]);
    expect((await call('GET', `/${old}`)).body).toEqual((await call('GET', `/${fresh}`)).body);
  });

  test('expired values of a key are deleted', async () => {
    const { id } = await create();
    for (let i = 0; i < 3; i++) await call('POST', `/${id}/rotate`);
    const values = await many(pool, sql`SELECT FROM api_key_value WHERE api_key_id = ${id}`);
    expect(values).toHaveLength(1);
  });

  test('many concurrent rotations all succeed, and one value is current in the end', async () => {
    const { id } = await create();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call('POST', `/${id}/rotate`, { graceSeconds: 60 })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    const current = await many(pool, sql`SELECT FROM api_key_value WHERE api_key_id = ${id} AND expires_at IS NULL`);
    expect(current).toHaveLength(1);
  });

  test('a caller cannot gain scopes by rotating a key that has more', async () => {
    const { id, apiKey } = await create();
    const { apiKey: small } = await create({ operations: ['keys'] });
    expect((await call('POST', `/${id}/rotate`, {}, small)).status).toBe(403);
    expect(await statusWith(apiKey)).toBe(200);
  });

  test('an expired key cannot be rotated, and grace has its limits', async () => {
    const { id } = await create();
    for (const graceSeconds of [-1, 604_801, 1.5, '60'])
      expect((await call('POST', `/${id}/rotate`, { graceSeconds })).status, `${graceSeconds}`).toBe(400);
    await exec(pool, sql`UPDATE api_key SET expires_at = now() WHERE id = ${id}`);
    expect((await call('POST', `/${id}/rotate`)).status).toBe(409);
  });
});

describe('deleting', () => {
  test('returns 204 without a body; the next request with the key gets 401, the next deletion 404', async () => {
    const { id, apiKey } = await create();
    expect(await statusWith(apiKey)).toBe(200);
    expect(await call('DELETE', `/${id}`)).toEqual({ status: 204, body: null });
    expect(await statusWith(apiKey)).toBe(401);
    expect((await call('DELETE', `/${id}`)).status).toBe(404);
  });

  test('a key may revoke itself', async () => {
    const { id, apiKey } = await create();
    expect((await call('DELETE', `/${id}`, undefined, apiKey)).status).toBe(204);
    expect(await statusWith(apiKey)).toBe(401);
  });
});

test('the id of another account gets exactly the response of an unknown id, and the key stays', async () => {
  const foreign = await create({}, otherAccount.apiKey);
  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/rotate'],
  ] as const) {
    const answers = [];
    for (const id of [foreign.id, 999_999_999, Number.MAX_SAFE_INTEGER]) {
      const { status, body } = await call(method, `/${id}${path}`);
      answers.push({ status, body: { ...body, requestId: '' } });
    }
    expect(answers[0]?.status).toBe(404);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  }
  expect(await statusWith(foreign.apiKey)).toBe(200);
});

test('an id that is not a positive whole number is 400', async () => {
  for (const id of ['0', '-1', '1.5', 'x', '9007199254740993'])
    expect((await call('DELETE', `/${id}`)).status, id).toBe(400);
});

test('every operation needs the scope keys', async () => {
  const { apiKey } = await create({ operations: SCOPES.filter((scope) => scope !== 'keys') });
  const calls = [
    ['POST', ''],
    ['GET', ''],
    ['GET', '/x'],
    ['POST', '/1/rotate'],
    ['DELETE', '/1'],
  ] as const;
  for (const [method, path] of calls) expect((await call(method, path, undefined, apiKey)).status, path).toBe(403);
});

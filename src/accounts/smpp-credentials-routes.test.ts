import { afterAll, describe, expect, test } from 'vitest';
import { newKey, openRoutes, PG } from '../../test/support/http/routes.ts';
import { many, one, sql } from '../core/db/query.ts';
import { matchesPassword } from './password.ts';
import { smppCredentialRoutes } from './smpp-credential-routes.ts';

const { pool, account, otherAccount, call, ...routes } = await openRoutes([smppCredentialRoutes], {
  base: `${PG}/smpp/credentials`,
});
afterAll(() => routes[Symbol.asyncDispose]());

const create = async (body?: object, key?: string) => (await call('POST', '', body, key)).body;
const hashOf = async (id: number): Promise<string> =>
  (await one<{ hash: string }>(pool, sql`SELECT password_hash AS hash FROM smpp_credential WHERE id = ${id}`)).hash;
const auditedOf = async (id: number): Promise<string[]> => {
  const subject = `smpp-credential:${id}`;
  const rows = await many<{ action: string }>(
    pool,
    sql`SELECT action FROM audit_entry WHERE subject = ${subject} ORDER BY id`,
  );
  return rows.map(({ action }) => action);
};

const DEFAULTS = {
  name: '',
  maxBinds: 2,
  window: 50,
  tps: null,
  addresses: [],
  senders: [],
  alphabet: 'gsm',
  messageIds: 'uuid',
  inbound: true,
};

describe('creating', () => {
  test('returns a system_id and a password that fit into a bind, and stores only a slow hash', async () => {
    const { status, body } = await call('POST', '', undefined);
    expect([status, body]).toEqual([
      201,
      {
        ...DEFAULTS,
        id: expect.any(Number),
        systemId: expect.stringMatching(/^[a-z][a-z0-9]{11}$/),
        password: expect.stringMatching(/^[A-Za-z0-9]{8}$/),
        createdAt: expect.stringMatching(/Z$/),
      },
    ]);
    const stored = await many<{ row: string }>(pool, sql`SELECT s::text AS row FROM smpp_credential s`);
    expect(JSON.stringify(stored)).not.toContain(body.password);
    expect(await matchesPassword(body.password, await hashOf(body.id), { by: 'test' })).toBe(true);
    expect(JSON.stringify((await call('GET', '?limit=1000')).body)).not.toContain(body.password);
  });

  test('takes every setting, with addresses in their canonical form', async () => {
    const settings = {
      name: 'Kannel',
      maxBinds: 10,
      window: 900,
      tps: 500,
      senders: ['ACME', '+393331234567'],
      alphabet: 'latin1',
      messageIds: 'hex',
      inbound: false,
    };
    expect(await create({ ...settings, addresses: ['10.1.2.3/8', '2001:DB8::1', '10.0.0.0/8'] })).toMatchObject({
      ...settings,
      addresses: ['10.0.0.0/8', '2001:db8::1/128'],
    });
  });

  test.for([
    ['addresses[1]', { addresses: ['10.0.0.1', 'ten'] }],
    ['maxBinds', { maxBinds: 0 }],
    ['window', { window: 1001 }],
    ['tps', { tps: 0 }],
    ['senders', { senders: ['x'.repeat(21)] }],
    ['alphabet', { alphabet: 'ebcdic' }],
    ['messageIds', { messageIds: 'octal' }],
  ] as const)('a wrong %s is 400 and names the field', async ([field, body]) => {
    const answer = await call('POST', '', body);
    expect(answer.status).toBe(400);
    expect(answer.body.details[0].field).toContain(field);
  });

  test('needs the scope keys', async () => {
    expect((await call('POST', '', {}, await newKey(pool, account, ['SMS']))).status).toBe(403);
  });
});

test('a list shows the credentials of the account alone, oldest first, in pages', async () => {
  const first = await create({ name: 'first of two' }, otherAccount.apiKey);
  const second = await create({ name: 'second of two' }, otherAccount.apiKey);
  const { body } = await call('GET', '', undefined, otherAccount.apiKey);
  expect(body).toMatchObject({ total: 2, data: [{ id: first.id, lastBoundAt: null }, { id: second.id }] });
  expect((await call('GET', '?limit=1&page=1', undefined, otherAccount.apiKey)).body.data).toEqual([body.data[1]]);
});

test('a change keeps what it leaves out', async () => {
  const { id } = await create({ name: 'changed', tps: 5, senders: ['ACME'] });
  const { status, body } = await call('PATCH', `/${id}`, { tps: null, window: 7 });
  expect([status, body]).toMatchObject([200, { id, name: 'changed', tps: null, window: 7, senders: ['ACME'] }]);
  expect((await call('PATCH', `/${id}`, { addresses: ['x'] })).status).toBe(400);
});

test('a rotation gives a new password under the same system_id, and the previous one stops working', async () => {
  const { id, systemId, password } = await create();
  const { status, body } = await call('POST', `/${id}/rotate`, undefined);
  expect([status, body]).toMatchObject([200, { id, systemId }]);
  expect(body.password).not.toBe(password);
  const hash = await hashOf(id);
  const matches = (each: string) => matchesPassword(each, hash, { by: 'test' });
  expect([await matches(password), await matches(body.password)]).toEqual([false, true]);
});

test('a deleted credential is gone, and every change is in the audit log', async () => {
  const { id } = await create();
  await call('PATCH', `/${id}`, { name: 'x' });
  await call('POST', `/${id}/rotate`, undefined);
  expect((await call('DELETE', `/${id}`)).status).toBe(204);
  expect((await call('DELETE', `/${id}`)).status).toBe(404);
  expect(await auditedOf(id)).toEqual(
    ['create', 'update', 'rotate', 'delete'].map((verb) => `smpp-credential.${verb}`),
  );
});

test('a foreign id behaves like an unknown one', async () => {
  const { id } = await create();
  for (const [method, path, body] of [
    ['PATCH', '', { name: 'x' }],
    ['POST', '/rotate', undefined],
    ['DELETE', '', undefined],
  ] as const) {
    const foreign = await call(method, `/${id}${path}`, body, otherAccount.apiKey);
    const unknown = await call(method, `/999999${path}`, body, otherAccount.apiKey);
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
  }
});

test('a key gives no credential rights that it lacks itself', async () => {
  const { id } = await create();
  const bind = await create({ inbound: false });
  const keys = await newKey(pool, account, ['keys']);
  const sends = await newKey(pool, account, ['keys', 'SMS']);
  const lacks = (scopes: string) => [403, `These credentials themselves lack the scopes ${scopes}`];
  const refused = async (...args: Parameters<typeof call>) => {
    const { status, body } = await call(...args);
    return [status, body.message];
  };
  for (const [key, scopes] of [
    [keys, 'SMS, inbox'],
    [sends, 'inbox'],
  ] as const) {
    expect(await refused('POST', '', {}, key)).toEqual(lacks(scopes));
    expect(await refused('PATCH', `/${id}`, { name: 'other' }, key)).toEqual(lacks(scopes));
    expect(await refused('PATCH', `/${bind.id}`, { inbound: true }, key)).toEqual(lacks(scopes));
    expect(await refused('POST', `/${id}/rotate`, {}, key)).toEqual(lacks(scopes));
  }
  expect(await refused('POST', `/${bind.id}/rotate`, {}, keys)).toEqual(lacks('SMS'));
  expect((await call('POST', `/${bind.id}/rotate`, {}, sends)).status).toBe(200);
  expect((await call('PATCH', `/${id}`, { inbound: false }, sends)).status).toBe(200);
  expect((await call('DELETE', `/${id}`, undefined, keys)).status).toBe(204);
});

import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Method, openRoutes } from '../../test/support/http/routes.ts';
import { type Role, scopesOfRole } from '../core/actor.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { apiKeyRoutes } from './api-key-routes.ts';
import { userRoutes } from './user-routes.ts';

const PATH = '/users';
const KEYS = '/authentication';
const PASSWORD = 'correct horse battery';

const { pool, newAccount, ...routes } = await openRoutes([
  (app, deps) => userRoutes(app, { ...deps, onRemove: async () => undefined }),
  apiKeyRoutes,
]);
afterAll(() => routes[Symbol.asyncDispose]());

/** The Basic credentials of the first admin, and their id. */
let admin: string;
let adminId: number;
let account: NewAccount;
beforeEach(async () => {
  account = await newAccount();
  admin = basic(account.username, account.password);
  adminId = await idOf(account.username);
});

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
const idOf = async (username: string): Promise<number> =>
  (await one<{ id: number }>(pool, sql`SELECT id FROM app_user WHERE username = ${username}`)).id;

/** `as` is a key, or what Basic sends. */
const call = (as: string, method: Method, url: string, body?: object) => routes.call(method, url, body, as);

let next = 0;
/** A new person of this role, with an id and Basic credentials. */
async function person(role: Role, as = admin) {
  const username = `person-${++next}@example.com`;
  const { status, body } = await call(as, 'POST', PATH, { username, password: PASSWORD, role });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: Number(body.id), username, basic: basic(username, PASSWORD) };
}
const keyOf = async (as: string, operations?: string[]): Promise<string> =>
  (await call(as, 'POST', KEYS, operations ? { operations } : {})).body.apiKey;
const audit = () =>
  many<{ action: string; subject: string; username: string; detail: object }>(
    pool,
    sql`SELECT action, subject, username, detail FROM audit_entry
      WHERE account_id = ${account.accountId} AND action LIKE 'user.%' ORDER BY id`,
  );
const rolesOf = async (accountId: number): Promise<string[]> =>
  (await many<{ role: string }>(pool, sql`SELECT role FROM app_user WHERE account_id = ${accountId} ORDER BY id`)).map(
    ({ role }) => role,
  );

describe('users', () => {
  test('are created, listed, found, changed and removed, and the audit log says by whom', async () => {
    const { id, username, basic: own } = await person('admin');
    const record = {
      id,
      username,
      displayName: '',
      role: 'admin',
      isOperator: false,
      createdAt: expect.stringMatching(/Z$/),
    };
    expect(await call(own, 'GET', `${PATH}/${id}`)).toEqual({ status: 200, body: record });
    const list = await call(own, 'GET', `${PATH}?limit=1&page=1`);
    expect(list.body).toEqual({ data: [record], page: 1, limit: 1, total: 2 });
    expect((await call(admin, 'PUT', `${PATH}/${id}`, { role: 'viewer' })).body).toEqual({ ...record, role: 'viewer' });
    expect(await call(admin, 'DELETE', `${PATH}/${id}`)).toEqual({ status: 204, body: null });
    expect((await call(admin, 'GET', `${PATH}/${id}`)).status).toBe(404);
    expect((await call(own, 'GET', PATH)).status).toBe(401);
    const [subject, by] = [`user:${id}`, account.username];
    expect(await audit()).toEqual([
      { action: 'user.create', subject, username: by, detail: { username, role: 'admin' } },
      { action: 'user.role', subject, username: by, detail: { username, from: 'admin', to: 'viewer' } },
      { action: 'user.delete', subject, username: by, detail: { username, role: 'viewer' } },
    ]);
  });

  test('are called by a name that they or an admin give, and that colleagues see', async () => {
    const { id, basic: own } = await person('viewer');
    expect((await call(own, 'PUT', `${PATH}/me/name`, { displayName: ' Grace Example ' })).status).toBe(204);
    expect((await call(admin, 'GET', `${PATH}/${id}`)).body).toMatchObject({ displayName: 'Grace Example' });
    expect((await call(own, 'PUT', `${PATH}/me/name`, { displayName: 'x'.repeat(101) })).status).toBe(400);
    const named = await call(admin, 'PUT', `${PATH}/${id}`, { displayName: 'Grace', role: 'sender' });
    expect(named.body).toMatchObject({ displayName: 'Grace', role: 'sender' });
    expect((await audit()).filter(({ action }) => action === 'user.name')).toMatchObject([
      { detail: { name: 'Grace Example' } },
      { detail: { name: 'Grace' } },
    ]);
  });

  test('need a username that is free in all accounts, and a password that is not the username', async () => {
    const other = await newAccount();
    const bodies = [
      [{ username: 'x', password: 'short', role: 'king' }, 400, ['password', 'role']],
      [{ username: 'Not valid', password: PASSWORD, role: 'viewer' }, 400, ['username']],
      [{ username: 'a.long.username', password: 'A.Long.Username', role: 'viewer' }, 400, ['password']],
      [{}, 400, ['username', 'password', 'role']],
      [{ username: account.username, password: PASSWORD, role: 'viewer' }, 409, undefined],
      [{ username: other.username, password: PASSWORD, role: 'viewer' }, 409, undefined],
    ] as const;
    for (const [body, status, fields] of bodies) {
      const answer = await call(admin, 'POST', PATH, body);
      expect(answer.status, JSON.stringify(body)).toBe(status);
      expect(answer.body.details?.map(({ field }: { field: string }) => field)).toEqual(fields);
    }
    expect(await rolesOf(account.accountId)).toEqual(['admin']);
  });

  test('of another account get exactly the response of unknown ones', async () => {
    const otherAccount = await newAccount();
    const foreign = await idOf(otherAccount.username);
    for (const [method, body] of [
      ['GET'],
      ['PUT', { role: 'viewer' }],
      ['PUT', { password: PASSWORD }],
      ['DELETE'],
    ] as const) {
      const [answer, unknown] = [
        await call(admin, method, `${PATH}/${foreign}`, body),
        await call(admin, method, `${PATH}/999999999`, body),
      ];
      expect(answer.status).toBe(404);
      expect({ ...answer.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    }
    expect(await rolesOf(otherAccount.accountId)).toEqual(['admin']);
  });
});

describe('permissions', () => {
  test('only admins may see or change users', async () => {
    const others = [await person('viewer'), await person('sender'), await person('manager')];
    const second = await person('admin');
    for (const { basic: as } of others) {
      expect((await call(as, 'GET', PATH)).status).toBe(403);
      expect((await call(as, 'DELETE', `${PATH}/${second.id}`)).status).toBe(403);
      expect((await call(as, 'PUT', `${PATH}/${second.id}`, { role: 'viewer' })).status).toBe(403);
    }
    for (const { id } of others) expect((await call(second.basic, 'DELETE', `${PATH}/${id}`)).status).toBe(204);
  });

  test('a key can neither create nor take over a user with more rights than its own', async () => {
    const narrow = await keyOf(admin, ['keys']);
    const viewer = await person('viewer');
    const input = { username: 'helper', password: PASSWORD, role: 'viewer' };
    expect((await call(narrow, 'POST', PATH, input)).status).toBe(403);
    expect((await call(narrow, 'PUT', `${PATH}/${viewer.id}`, { password: 'another password' })).status).toBe(403);
    expect((await call(narrow, 'DELETE', `${PATH}/${viewer.id}`)).status).toBe(403);
    expect((await call(viewer.basic, 'GET', KEYS)).status).toBe(403);
    expect((await call(await keyOf(admin), 'POST', PATH, input)).status).toBe(201);
    // It may manage a sender, but not make more of one.
    const [asSender, sender] = [await keyOf(admin, [...scopesOfRole('sender'), 'keys']), await person('sender')];
    for (const role of ['viewer', 'manager', 'admin'])
      expect((await call(asSender, 'PUT', `${PATH}/${sender.id}`, { role })).status).toBe(403);
    expect((await call(asSender, 'PUT', `${PATH}/${sender.id}`, { role: 'sender' })).status).toBe(200);
  });

  test('an admin can neither change nor remove a user who is an operator of the gateway', async () => {
    const operator = await person('manager');
    await exec(pool, sql`UPDATE app_user SET is_operator = true WHERE id = ${operator.id}`);
    for (const change of [{ role: 'viewer' }, { password: 'another password' }])
      expect((await call(admin, 'PUT', `${PATH}/${operator.id}`, change)).status).toBe(403);
    expect((await call(admin, 'DELETE', `${PATH}/${operator.id}`)).status).toBe(403);
    expect((await call(admin, 'GET', `${PATH}/${operator.id}`)).body).toMatchObject({ role: 'manager' });
  });

  test('the last admin can be neither removed nor demoted', async () => {
    expect((await call(admin, 'DELETE', `${PATH}/${adminId}`)).status).toBe(409);
    for (const role of ['viewer', 'sender', 'manager'])
      expect((await call(admin, 'PUT', `${PATH}/${adminId}`, { role })).status).toBe(409);
    expect((await call(admin, 'PUT', `${PATH}/${adminId}`, { role: 'admin' })).status).toBe(200);
    const second = await person('admin');
    expect((await call(admin, 'PUT', `${PATH}/${adminId}`, { role: 'manager' })).status).toBe(200);
    expect((await call(second.basic, 'DELETE', `${PATH}/${second.id}`)).status).toBe(409);
  });

  test('of two admins who remove each other concurrently one is left', async () => {
    for (let round = 0; round < 5; round++) {
      const { accountId, ...first } = await newAccount();
      const one_ = basic(first.username, first.password);
      const two = await person('admin', one_);
      const answers = await Promise.all([
        call(one_, 'DELETE', `${PATH}/${two.id}`),
        call(two.basic, 'PUT', `${PATH}/${await idOf(first.username)}`, { role: 'viewer' }),
      ]);
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
      expect((await rolesOf(accountId)).filter((role) => role === 'admin')).toHaveLength(1);
    }
  });
});

describe('keys follow their maker', () => {
  test('the keys of a removed user are revoked, and no others', async () => {
    const second = await person('admin');
    const [theirs, others] = [await keyOf(second.basic), await keyOf(admin)];
    expect((await call(admin, 'DELETE', `${PATH}/${second.id}`)).status).toBe(204);
    expect((await call(theirs, 'GET', KEYS)).status).toBe(401);
    expect((await call(others, 'GET', KEYS)).status).toBe(200);
  });

  test('a demoted user and their keys lose the scopes of the role with the next request', async () => {
    const second = await person('admin');
    const key = await keyOf(second.basic);
    await call(admin, 'PUT', `${PATH}/${second.id}`, { role: 'manager' });
    expect((await call(second.basic, 'GET', KEYS)).status).toBe(403);
    expect((await call(key, 'GET', KEYS)).status).toBe(403);
  });
});

describe('passwords', () => {
  test('are changed by their users with the current one, also by viewers, and the old one stops working', async () => {
    const { id, username, basic: old } = await person('viewer');
    const input = { currentPassword: PASSWORD, newPassword: 'a new long password' };
    expect(await call(old, 'PUT', `${PATH}/me/password`, input)).toEqual({ status: 204, body: null });
    expect((await call(old, 'PUT', `${PATH}/me/password`, input)).status).toBe(401);
    const again = basic(username, input.newPassword);
    const wrong = await call(again, 'PUT', `${PATH}/me/password`, input);
    expect([wrong.status, wrong.body.details[0].field]).toEqual([400, 'currentPassword']);
    const easy = { currentPassword: input.newPassword, newPassword: username.toUpperCase() };
    expect((await call(again, 'PUT', `${PATH}/me/password`, easy)).body.details[0].field).toBe('newPassword');
    expect((await audit()).at(-1)).toMatchObject({
      action: 'user.password',
      subject: `user:${id}`,
      username,
      detail: {},
    });
  });

  test('cannot be guessed that way: wrong ones are limited like failed logins', async () => {
    const statuses = new Set<number>();
    for (let i = 0; !statuses.has(429); i++) {
      const input = { currentPassword: `wrong ${i}`, newPassword: 'a new long password' };
      statuses.add((await call(admin, 'PUT', `${PATH}/me/password`, input)).status);
    }
    expect(statuses).toEqual(new Set([400, 429]));
  });

  test("cannot be changed by a key, nor one's own without the current one", async () => {
    const key = await keyOf(admin);
    const input = { currentPassword: account.password, newPassword: PASSWORD };
    expect((await call(key, 'PUT', `${PATH}/me/password`, input)).status).toBe(403);
    for (const as of [admin, key])
      expect((await call(as, 'PUT', `${PATH}/${adminId}`, { password: PASSWORD })).status).toBe(403);
    expect((await call(admin, 'GET', PATH)).status).toBe(200);
  });

  test('can be reset by an admin: the old one stops working with the next request', async () => {
    const { id, username, basic: old } = await person('manager');
    expect((await call(admin, 'PUT', `${PATH}/${id}`, { password: 'given by the admin' })).status).toBe(200);
    expect((await call(basic(username, 'given by the admin'), 'GET', PATH)).status).toBe(403);
    expect((await call(old, 'GET', PATH)).status).toBe(401);
    const everything = JSON.stringify(await many(pool, sql`SELECT * FROM audit_entry`));
    for (const secret of ['given by the admin', PASSWORD, account.password, account.apiKey])
      expect(everything).not.toContain(secret);
  });
});

import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { appWith, OWN_PAGES, openSessionStage, SESSION, SESSIONS } from '../../test/support/http/session-stage.ts';
import { SCOPES } from '../core/actor.ts';
import { exec, many, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { moveAccountStatus } from './accounts.ts';
import { listSessions } from './sessions.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

test('returns the user, the account and the permissions', async () => {
  const { answer, ask } = await stage.signIn(account);
  const instant = expect.stringMatching(/Z$/);
  expect(answer.body).toEqual({
    user: { id: expect.any(Number), username: account.username, displayName: '', role: 'admin', isOperator: false },
    account: {
      id: account.accountId,
      name: 'Acme',
      plan: 'unlimited',
      channels: ['SMS', 'RCS', 'WHATSAPP'],
      currency: 'EUR',
      status: 'active',
    },
    ownAccountId: account.accountId,
    role: 'admin',
    operations: [...SCOPES],
    writable: [...SCOPES],
    method: 'password',
    mustEnrol: false,
    createdAt: instant,
    expiresAt: instant,
  });
  expect(Date.parse(answer.body.expiresAt) - Date.parse(answer.body.createdAt)).toBe(7 * 24 * 3600 * 1000);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect((await ask('GET', SESSION)).body).toEqual(answer.body);
});

test('sets a cookie only for this host, over HTTPS, that no script can read', async () => {
  const { setCookie } = await stage.signIn(account);
  expect(setCookie).toMatch(
    /^__Host-heliograph=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test('sets one without Secure over plain HTTP, which is only served on the machine itself', async () => {
  await using localApp = appWith(stage.database, stage.authenticator, {});
  const request = { method: 'POST', url: SESSION, headers: OWN_PAGES, payload: account } as const;
  const answer = await localApp.inject(request);
  expect(answer.headers['set-cookie']).toMatch(
    /^heliograph=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
  );
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
  expect((await localApp.inject({ url: SESSION, headers: { cookie } })).statusCode).toBe(200);
  expect((await localApp.inject({ ...request, remoteAddress: '192.0.2.1' })).statusCode).toBe(403);
});

test('always creates a new token, and never reuses one that is sent', async () => {
  const planted = randomBytes(32).toString('base64url');
  const cookie = `__Host-heliograph=${planted}; heliograph=${planted}`;
  const first = await stage.signIn(account, { headers: { cookie } });
  const second = await stage.signIn(account, { headers: { cookie: first.cookie } });
  expect(new Set([planted, first.token, second.token]).size).toBe(3);
  expect((await stage.call('GET', SESSION, { headers: { cookie } })).status).toBe(401);
});

test('stores only the hash of the token', async () => {
  const { token } = await stage.signIn(account);
  const rows = await many<{ row: string }>(stage.pool, sql`SELECT s::text AS row FROM user_session s`);
  const log = await many<{ row: string }>(stage.pool, sql`SELECT e::text AS row FROM audit_entry e`);
  expect([...rows, ...log].filter(({ row }) => row.includes(token))).toEqual([]);
});

test('returns the same for a wrong password and an unknown user, without a challenge', async () => {
  const wrong = await stage.call('POST', SESSION, { headers: OWN_PAGES, body: { ...account, password: 'wrong' } });
  const unknown = await stage.call('POST', SESSION, {
    headers: OWN_PAGES,
    body: { username: 'nobody', password: 'wrong' },
  });
  for (const { status, body, headers } of [wrong, unknown]) {
    expect([status, body.message]).toEqual([401, 'Missing or invalid credentials']);
    expect(headers).not.toHaveProperty('www-authenticate');
    expect(headers).not.toHaveProperty('set-cookie');
  }
});

test('names a field that is missing or of a wrong type', async () => {
  for (const [body, field] of [
    [{ username: account.username }, 'password'],
    [{ username: 1, password: 'x' }, 'username'],
  ] as const) {
    const answer = await stage.call('POST', SESSION, { headers: OWN_PAGES, body });
    expect([answer.status, answer.body.details]).toEqual([400, [expect.objectContaining({ field })]]);
  }
});

test('counts its failed attempts together with those of Basic', async () => {
  const { username } = account;
  const from = '192.0.2.99';
  const authorization = `Basic ${Buffer.from(`${username}:wrong`).toString('base64')}`;
  const bodies = ['one', 'two'].map((password) => ({ username, password }));
  const answers = [
    await stage.call('POST', SESSION, { headers: OWN_PAGES, body: bodies[0] ?? {}, from }),
    await stage.call('GET', `${PG}/users`, { headers: { authorization }, from }),
    await stage.call('POST', SESSION, { headers: OWN_PAGES, body: bodies[1] ?? {}, from }),
  ];
  const left = answers.map(({ status, headers }) => [status, headers['x-ratelimit-remaining']]);
  expect(left).toEqual([
    [401, '59'],
    [401, '58'],
    [401, '57'],
  ]);
});

test('is refused for a suspended account, and from an address that is not on its list', async () => {
  await stage.signIn(account);
  const body = { ipAllowList: ['198.51.100.7'], enforced: true };
  const { ask } = await stage.signIn(account);
  expect((await ask('PUT', `${PG}/account/security`, body)).status).toBe(200);
  const elsewhere = await stage.call('POST', SESSION, { headers: OWN_PAGES, body: account, from: '203.0.113.5' });
  expect([elsewhere.status, elsewhere.body.message]).toEqual([403, "This address is not on the account's allow-list"]);
  await moveAccountStatus(stage.pool, { accountId: account.accountId, from: 'active', to: 'suspended' });
  const suspended = await stage.call('POST', SESSION, { headers: OWN_PAGES, body: account });
  expect([suspended.status, suspended.body.message]).toEqual([403, 'The account is suspended']);
});

test('records address and user agent, truncated to fit the column', async () => {
  const { answer, ask } = await stage.signIn(account, {
    headers: { 'user-agent': 'B'.repeat(300) },
    from: '2001:DB8::5',
  });
  const { data, ...page } = (await ask('GET', SESSIONS)).body;
  expect(page).toEqual({ page: 0, limit: 10, total: 1 });
  expect(data).toEqual([
    {
      id: expect.any(Number),
      userId: answer.body.user.id,
      username: account.username,
      address: '2001:db8::5',
      userAgent: 'B'.repeat(200),
      method: 'password',
      createdAt: answer.body.createdAt,
      lastSeenAt: expect.stringMatching(/Z$/),
      expiresAt: answer.body.expiresAt,
      current: true,
    },
  ]);
  const subject = `session:${data[0].id}`;
  const detail = { address: '2001:db8::5', userAgent: 'B'.repeat(200), method: 'password' };
  const by = { kind: 'user', userId: answer.body.user.id, username: account.username };
  expect(await stage.auditOf(account.accountId)).toEqual([{ ...by, action: 'session.create', subject, detail }]);
});

test('too often ends the oldest of fifty sessions', async () => {
  const { answer } = await stage.signIn(account);
  const { id } = answer.body.user;
  await exec(
    stage.pool,
    sql`INSERT INTO user_session (account_id, user_id, token_hash)
      SELECT ${account.accountId}, ${id}, sha256(random()::text::bytea) FROM generate_series(1, 60)`,
  );
  await stage.signIn(account);
  const whose = { accountId: account.accountId, userId: Number(id) };
  expect(await listSessions(stage.pool, { ...whose, limit: 100, offset: 0 })).toHaveLength(50);
});

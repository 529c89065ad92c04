import { afterAll, beforeEach, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { openSessionStage, SESSION, SESSIONS, sessionIdOf } from '../../test/support/http/session-stage.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { moveAccountStatus } from './accounts.ts';
import { createAuthenticator } from './authenticate.ts';
import { signIn } from './session-routes.ts';
import { deleteEndedSessions, updateLastSeen } from './sessions.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

test('ends when its browser signs out, which removes the cookie', async () => {
  const [here, there] = [await stage.signIn(account), await stage.signIn(account)];
  const answer = await here.ask('DELETE', SESSION);
  expect([answer.status, answer.body]).toEqual([204, '']);
  expect(answer.headers['set-cookie']).toBe('__Host-heliograph=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure');
  expect([await stage.statusOf(here), await stage.statusOf(there)]).toEqual([401, 200]);
  expect((await stage.auditOf(account.accountId)).map((entry) => entry.action)).toEqual([
    'session.create',
    'session.create',
    'session.end',
  ]);
});

test('ends after twelve hours without a request, and each request extends it', async () => {
  const browser = await stage.signIn(account);
  const id = await sessionIdOf(browser);
  const seen = (interval: string) =>
    exec(
      stage.pool,
      sql`UPDATE user_session SET created_at = now() - interval '2 days', last_seen_at = now() - ${interval}::interval
        WHERE id = ${id}`,
    );
  await seen('11 hours 59 minutes');
  expect(await stage.statusOf(browser)).toBe(200);
  await seen('12 hours');
  expect(await stage.statusOf(browser)).toBe(401);
  await updateLastSeen(stage.pool, { ids: [id], times: [new Date()] });
  expect(await stage.statusOf(browser)).toBe(200);
  await updateLastSeen(stage.pool, { ids: [id], times: [new Date(0)] });
  expect(await stage.statusOf(browser), 'an earlier time never replaces a later one').toBe(200);
});

test('ends seven days after it began, however often it is used', async () => {
  const browser = await stage.signIn(account);
  const id = await sessionIdOf(browser);
  const begun = (interval: string) =>
    exec(stage.pool, sql`UPDATE user_session SET created_at = now() - ${interval}::interval WHERE id = ${id}`);
  await begun('6 days 23 hours 59 minutes');
  expect(await stage.statusOf(browser)).toBe(200);
  await begun('7 days');
  expect(await stage.statusOf(browser)).toBe(401);
  await stage.signIn(account);
  expect(await deleteEndedSessions(stage.pool, { limit: 10 })).toBeGreaterThanOrEqual(1);
  expect(await many(stage.pool, sql`SELECT FROM user_session WHERE id = ${id}`)).toEqual([]);
  expect((await (await stage.signIn(account)).ask('GET', SESSIONS)).body.total).toBe(2);
});

test('has a last-seen time from its requests', async () => {
  const browser = await stage.signIn(account);
  const id = await sessionIdOf(browser);
  await exec(stage.pool, sql`UPDATE user_session SET last_seen_at = now() - interval '1 hour' WHERE id = ${id}`);
  const own = createAuthenticator({ pool: stage.pool, log: silentLog });
  await own.authenticate({ headers: { cookie: browser.cookie }, ip: '198.51.100.7', protocol: 'https' });
  await own.close();
  const { recent } = await one<{ recent: boolean }>(
    stage.pool,
    sql`SELECT last_seen_at > now() - interval '30 minutes' AS recent FROM user_session WHERE id = ${id}`,
  );
  expect(recent).toBe(true);
});

test('has its own limit, whatever the plan', async () => {
  const trial = await createAccount(stage.pool, { name: 'Trial', plan: 'trial' });
  const { ask } = await stage.signIn(trial);
  expect((await ask('GET', SESSION)).headers).toMatchObject({
    'x-ratelimit-limit': '1200',
    'x-ratelimit-remaining': '1199',
  });
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask('GET', SESSION)));
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
});

test('has the current role of its user, and is read-only for a viewer', async () => {
  const viewer = await stage.person(account.accountId, 'viewer');
  const browser = await stage.signIn(viewer);
  expect(browser.answer.body.operations).not.toContain('keys');
  expect((await browser.ask('GET', `${PG}/users`)).status).toBe(403);
  const owner = await stage.signIn(account);
  expect((await owner.ask('PUT', `${PG}/users/${viewer.id}`, { role: 'admin' })).status).toBe(200);
  expect((await browser.ask('GET', `${PG}/users`)).status).toBe(200);
  expect((await browser.ask('GET', SESSION)).body).toMatchObject({ role: 'admin', user: { role: 'admin' } });
});

test('ends when its user is removed or gets a new password', async () => {
  const [owner, first, second] = [
    await stage.signIn(account),
    await stage.person(account.accountId, 'viewer'),
    await stage.person(account.accountId, 'viewer'),
  ];
  const [a, b] = [await stage.signIn(first), await stage.signIn(second)];
  await owner.ask('DELETE', `${PG}/users/${first.id}`);
  await owner.ask('PUT', `${PG}/users/${second.id}`, { password: 'another long password' });
  expect([await stage.statusOf(a), await stage.statusOf(b), await stage.statusOf(owner)]).toEqual([401, 401, 200]);
});

test("survives a change of one's own password, which ends all others", async () => {
  const [here, there] = [await stage.signIn(account), await stage.signIn(account)];
  const change = { currentPassword: account.password, newPassword: 'another long password' };
  expect((await here.ask('PUT', `${PG}/users/me/password`, change)).status).toBe(204);
  expect([await stage.statusOf(here), await stage.statusOf(there)]).toEqual([200, 401]);
  const ends = (await stage.auditOf(account.accountId)).filter((entry) => entry.action === 'session.end');
  expect(ends).toMatchObject([{ detail: { reason: 'the password was changed' } }]);
});

test('cannot start with a password that was changed during the check', async () => {
  const { checkPassword } = stage.authenticator;
  const { actor, passwordHash } = await checkPassword(account, '198.51.100.7');
  await exec(stage.pool, sql`UPDATE app_user SET password_hash = 'x' WHERE id = ${actor.userId}`);
  const begun = signIn(stage.pool, actor, {
    passwordHash,
    method: 'password',
    ip: '198.51.100.7',
    userAgent: '',
  });
  await expect(begun).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('is rejected while the account is suspended or the address is not allowed', async () => {
  const browser = await stage.signIn(account);
  const { accountId } = account;
  await moveAccountStatus(stage.pool, { accountId, from: 'active', to: 'suspended' });
  expect((await browser.ask('GET', SESSION)).body).toMatchObject({ status: 403, message: 'The account is suspended' });
  await moveAccountStatus(stage.pool, { accountId, from: 'suspended', to: 'active' });
  await browser.ask('PUT', `${PG}/account/security`, { ipAllowList: ['203.0.113.5'], enforced: true, force: true });
  expect(await stage.statusOf(browser)).toBe(403);
});

test('is ignored next to a key or a password', async () => {
  const { cookie } = await stage.signIn(account);
  for (const headers of [{ 'x-api-key': 'wrong' }, { authorization: 'Bearer x' }, { authorization: 'Basic eA==' }])
    expect((await stage.call('GET', SESSION, { headers: { cookie, ...headers } })).status).toBe(401);
  const other = await stage.newAccount();
  const answer = await stage.call('GET', `${PG}/audit?limit=1`, { headers: { cookie, 'x-api-key': other.apiKey } });
  expect(JSON.stringify(answer.body)).not.toContain(`account:${account.accountId}`);
});

test('is not what keys and passwords have', async () => {
  const basic = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
  for (const headers of [{ 'x-api-key': account.apiKey }, { authorization: basic }]) {
    expect(await stage.call('GET', SESSION, { headers })).toMatchObject({
      status: 403,
      body: { message: 'These credentials are not a session' },
    });
    expect((await stage.call('DELETE', SESSION, { headers })).status).toBe(204);
  }
});
test('invalid tokens use up no attempts of their network, and cost no query unless they look valid', async () => {
  let queries = 0;
  const counting = { query: (query: never) => (queries++, stage.pool.query(query)) };
  const own = createAuthenticator({ pool: counting as never, log: silentLog });
  const show = (token: string) =>
    own.authenticate({ headers: { cookie: `__Host-heliograph=${token}` }, ip: '192.0.2.9', protocol: 'https' });
  for (const token of ['x', 'A'.repeat(42), `${'A'.repeat(42)}!`])
    await expect(show(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(queries).toBe(0);
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => show('A'.repeat(43))));
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'unauthenticated' } });
  expect(queries).toBeLessThanOrEqual(2);
  await own.close();
});

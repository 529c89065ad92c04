import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { type Browser, OWN_PAGES, openSessionStage, SESSION } from '../../test/support/http/session-stage.ts';
import { exec, many, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';

const OWN = `${PG}/users/me/second-factors`;
const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

/** An app with this secret. Its clock is a step ahead for each code already shown, because a code counts once. */
function appOf(secret: string) {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = (steps = 0): string => totp.generate({ timestamp: Date.now() + steps * 30_000 });
  return { code, wrong: (): string => String((Number(code()) + 1) % 1_000_000).padStart(6, '0') };
}

/** Adds an authenticator app in this browser. Its next code is one step ahead. */
async function enrol({ ask }: Pick<Browser, 'ask'>) {
  const { body } = await ask('POST', `${OWN}/totp`);
  const app = appOf(body.secret);
  const { status, body: added } = await ask('POST', `${OWN}/totp/confirm`, { code: app.code(-1) });
  expect(status).toBe(200);
  return { app, recoveryCodes: added.recoveryCodes as string[] };
}

const post = (path: string, body: object) => stage.call('POST', `${SESSION}${path}`, { headers: OWN_PAGES, body });
const begin = async (): Promise<string> => {
  const { username, password } = account;
  const { status, body } = await post('', { username, password });
  expect(status).toBe(202);
  return body.pendingToken;
};
const waitIsOver = (): Promise<number> =>
  exec(stage.pool, sql`UPDATE totp_factor SET wrong_at = wrong_at - interval '2 hours'`);

test('a password and a code sign in, and the session says so', async () => {
  const { app } = await enrol(await stage.signIn(account));
  const { username, password } = account;
  const first = await post('', { username, password });
  expect([first.status, first.body]).toEqual([
    202,
    { pendingToken: expect.stringMatching(/^[\w-]{43}$/), factors: ['totp', 'recovery-code'] },
  ]);
  expect(first.headers).not.toHaveProperty('set-cookie');
  const second = await post('/second-factor', { pendingToken: first.body.pendingToken, code: app.code() });
  expect([second.status, second.body]).toMatchObject([200, { user: { username }, method: 'totp', mustEnrol: false }]);
  const cookie = String(second.headers['set-cookie']).split(';')[0] ?? '';
  const { body } = await stage.call('GET', `${PG}/sessions`, { headers: { cookie } });
  expect(body.data.map(({ method }: { method: string }) => method)).toEqual(['totp', 'password']);
});

test('a pending sign-in gives access to nothing else', async () => {
  await enrol(await stage.signIn(account));
  const token = await begin();
  for (const headers of [
    { cookie: `__Host-heliograph=${token}` },
    { 'x-api-key': token },
    { authorization: `Bearer ${token}` },
  ])
    expect((await stage.call('GET', SESSION, { headers })).status).toBe(401);
});

test('a code counts once, also in another sign-in', async () => {
  const { app } = await enrol(await stage.signIn(account));
  const code = app.code();
  const [one, other] = [await begin(), await begin()];
  expect((await post('/second-factor', { pendingToken: one, code })).status).toBe(200);
  expect((await post('/second-factor', { pendingToken: other, code })).status).toBe(401);
  expect((await post('/second-factor', { pendingToken: one, code: app.code(1) })).status).toBe(404);
});

test('of many concurrent requests with the same right code exactly one signs in', async () => {
  const { app } = await enrol(await stage.signIn(account));
  const tokens = [await begin(), await begin(), await begin(), await begin()];
  const code = app.code();
  const answers = await Promise.all(tokens.map((pendingToken) => post('/second-factor', { pendingToken, code })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
});

test('five tries end a pending sign-in, also concurrent ones', async () => {
  const { app } = await enrol(await stage.signIn(account));
  const pendingToken = await begin();
  const tries = Array.from({ length: 8 }, () => post('/second-factor', { pendingToken, code: app.wrong() }));
  const statuses = (await Promise.all(tries)).map(({ status }) => status).toSorted();
  expect(statuses).toEqual([401, 401, 401, 401, 401, 404, 404, 404]);
  expect((await post('/second-factor', { pendingToken, code: app.code() })).status).toBe(404);
});

test('after wrong codes in several sign-ins even a right one has to wait, and a recovery code does not', async () => {
  const { app, recoveryCodes } = await enrol(await stage.signIn(account));
  const [one, other] = [await begin(), await begin()];
  for (let i = 0; i < 5; i++) await post('/second-factor', { pendingToken: one, code: app.wrong() });
  const early = await post('/second-factor', { pendingToken: other, code: app.code() });
  expect([early.status, Number(early.headers['retry-after'])]).toEqual([429, 60]);
  expect((await post('/second-factor', { pendingToken: other, code: recoveryCodes[0] })).status).toBe(200);
  await waitIsOver();
  expect((await post('/second-factor', { pendingToken: await begin(), code: app.code() })).status).toBe(200);
});

test('a recovery code signs in once, however it is typed', async () => {
  const { recoveryCodes } = await enrol(await stage.signIn(account));
  expect(new Set(recoveryCodes).size).toBe(10);
  const code = recoveryCodes[3]?.toUpperCase().replaceAll('-', ' ');
  const first = await post('/second-factor', { pendingToken: await begin(), code });
  expect([first.status, first.body.method]).toEqual([200, 'recovery-code']);
  expect((await post('/second-factor', { pendingToken: await begin(), code })).status).toBe(401);
});

test('a sign-in that is pending for five minutes has ended', async () => {
  const { app } = await enrol(await stage.signIn(account));
  const pendingToken = await begin();
  await exec(stage.pool, sql`UPDATE pending_sign_in SET created_at = now() - interval '301 seconds'`);
  expect((await post('/second-factor', { pendingToken, code: app.code() })).status).toBe(404);
});

test('a change of the password ends pending sign-ins and all other sessions', async () => {
  const browser = await stage.signIn(account);
  const { app } = await enrol(browser);
  const pendingToken = await begin();
  const body = { currentPassword: account.password, newPassword: 'another long password' };
  expect((await browser.ask('PUT', `${PG}/users/me/password`, body)).status).toBe(204);
  expect((await post('/second-factor', { pendingToken, code: app.code() })).status).toBe(404);
});

test('a password in the headers of a request does not go round the second factor', async () => {
  const { username, password } = account;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const call = () => stage.call('GET', `${PG}/users`, { headers: { authorization } });
  expect((await call()).status).toBe(200);
  await enrol(await stage.signIn(account));
  const refused = await call();
  expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('use an API key')]);
  expect((await stage.call('GET', `${PG}/users`, { headers: { 'x-api-key': account.apiKey } })).status).toBe(200);
});

test('the secret and the codes are stored sealed and hashed, and no response is kept for an Idempotency-Key', async () => {
  const { ask, cookie } = await stage.signIn(account);
  const headers = { ...OWN_PAGES, cookie, 'idempotency-key': 'enrol-1' };
  const { body } = await stage.call('POST', `${OWN}/totp`, { headers });
  const again = await stage.call('POST', `${OWN}/totp`, { headers });
  expect(again.body.secret).not.toBe(body.secret);
  const { recoveryCodes } = await enrol({ ask });
  const rows = await many<{ row: string }>(
    stage.pool,
    sql`SELECT t::text AS row FROM totp_factor t UNION ALL SELECT r::text FROM recovery_code r
      UNION ALL SELECT e::text FROM audit_entry e`,
  );
  const secrets = [body.secret, again.body.secret, ...recoveryCodes].flatMap((secret: string) => [
    secret,
    Buffer.from(secret).toString('hex'),
  ]);
  expect(rows.filter(({ row }) => secrets.some((secret) => row.includes(secret)))).toEqual([]);
});

test('another app replaces the first one only with a code of it', async () => {
  const { ask } = await stage.signIn(account);
  const { app: old } = await enrol({ ask });
  const { body } = await ask('POST', `${OWN}/totp`);
  const wrong = await ask('POST', `${OWN}/totp/confirm`, { code: '000000' });
  expect([wrong.status, wrong.body.details?.[0]?.field]).toEqual([400, 'code']);
  expect((await post('/second-factor', { pendingToken: await begin(), code: old.code() })).status).toBe(200);
  const next = appOf(body.secret);
  const added = await ask('POST', `${OWN}/totp/confirm`, { code: next.code() });
  expect([added.status, added.body.recoveryCodes]).toEqual([200, null]);
  expect((await post('/second-factor', { pendingToken: await begin(), code: old.code(1) })).status).toBe(401);
  expect((await post('/second-factor', { pendingToken: await begin(), code: next.code(1) })).status).toBe(200);
});

test('adding and removing a factor ends the other sessions of the user, and the audit log records both', async () => {
  const [here, there] = [await stage.signIn(account), await stage.signIn(account)];
  await enrol(here);
  expect([await stage.statusOf(here), await stage.statusOf(there)]).toEqual([200, 401]);
  expect((await here.ask('DELETE', `${OWN}/totp`)).status).toBe(204);
  expect((await here.ask('DELETE', `${OWN}/totp`)).status).toBe(404);
  expect((await here.ask('GET', OWN)).body).toEqual({
    totp: null,
    passkeys: [],
    recoveryCodesLeft: 0,
    required: false,
  });
  const entries = await many<{ action: string; detail: object }>(
    stage.pool,
    sql`SELECT action, detail FROM audit_entry
      WHERE account_id = ${account.accountId} AND action LIKE 'second-factor.%' ORDER BY id`,
  );
  expect(entries).toEqual([
    { action: 'second-factor.add', detail: { kind: 'totp' } },
    { action: 'second-factor.remove', detail: { kind: 'totp' } },
  ]);
  await stage.signIn(account);
});

test('new recovery codes replace the earlier ones', async () => {
  const { ask } = await stage.signIn(account);
  expect((await ask('POST', `${OWN}/recovery-codes`)).status).toBe(409);
  const { recoveryCodes: old } = await enrol({ ask });
  const { body } = await ask('POST', `${OWN}/recovery-codes`);
  expect((await post('/second-factor', { pendingToken: await begin(), code: old[0] })).status).toBe(401);
  expect((await post('/second-factor', { pendingToken: await begin(), code: body.recoveryCodes[0] })).status).toBe(200);
  expect((await ask('GET', OWN)).body.recoveryCodesLeft).toBe(9);
});

test('a key has no second factors', async () => {
  const headers = { 'x-api-key': account.apiKey };
  expect((await stage.call('GET', OWN, { headers })).status).toBe(403);
  expect((await stage.call('POST', `${OWN}/totp`, { headers })).status).toBe(403);
});

import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { apiDeps } from '../../test/support/http/api.ts';
import { createAuthenticator } from '../../test/support/http/passkeys.ts';
import { PG } from '../../test/support/http/routes.ts';
import { type Browser, HOST, openSessionStage, SESSION } from '../../test/support/http/session-stage.ts';
import { buildApi } from '../api.ts';
import { exec, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { ENROLMENT_OPERATIONS } from './session-routes.ts';

const KEYS = `${PG}/authentication`;
const OWN = `${PG}/users/me/second-factors`;
const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
let browser: Browser;
beforeEach(async () => {
  account = await stage.newAccount();
  browser = await stage.signIn(account);
});

const elevenMinutesPass = (): Promise<number> =>
  exec(stage.pool, sql`UPDATE user_session SET proven_at = proven_at - interval '11 minutes'`);
const makeKey = async ({ ask }: Browser = browser) => ask('POST', KEYS, { operations: ['SMS'] });
const stepUp = (body: object) => browser.ask('POST', `${SESSION}/step-up`, body);

test('every operation that the guard names exists', async () => {
  const app = buildApi(apiDeps());
  await app.ready();
  const { paths = {} } = app.swagger();
  const known = Object.values(paths).flatMap((path) =>
    Object.values(path ?? {}).map((operation) => (operation as { operationId?: string }).operationId),
  );
  expect([...ENROLMENT_OPERATIONS].filter((each) => !known.includes(each))).toEqual([]);
});

describe('ten minutes after the sign-in', () => {
  test('a dangerous action is denied with a specific code, and nothing else is', async () => {
    expect((await makeKey()).status).toBe(201);
    await elevenMinutesPass();
    const refused = await makeKey();
    expect([refused.status, refused.body]).toMatchObject([403, { code: 'step_up_required', error: 'Forbidden' }]);
    expect((await browser.ask('GET', KEYS)).status).toBe(200);
    for (const [method, url] of [
      ['POST', `${PG}/users`],
      ['PUT', `${PG}/users/1`],
      ['DELETE', `${PG}/users/1`],
      ['DELETE', `${PG}/users/1/second-factors`],
      ['PUT', `${PG}/account/security`],
      ['POST', `${OWN}/totp`],
      ['DELETE', `${OWN}/totp`],
    ] as const)
      expect((await browser.ask(method, url, {})).body.code, `${method} ${url}`).toBe('step_up_required');
  });

  test('the password, a code or a passkey each let the session do it again', async () => {
    await elevenMinutesPass();
    expect((await stepUp({ password: account.password })).body).toMatchObject({ user: { username: account.username } });
    expect((await makeKey()).status).toBe(201);

    const { body: totp } = await browser.ask('POST', `${OWN}/totp`);
    const app = new TOTP({ secret: Secret.fromBase32(totp.secret) });
    await browser.ask('POST', `${OWN}/totp/confirm`, { code: app.generate({ timestamp: Date.now() - 30_000 }) });
    await elevenMinutesPass();
    expect((await stepUp({ code: app.generate() })).status).toBe(200);
    expect((await makeKey()).status).toBe(201);

    const authenticator = createAuthenticator(`https://${HOST}`);
    const { body: made } = await browser.ask('POST', `${OWN}/passkeys/options`);
    await browser.ask('POST', `${OWN}/passkeys`, { name: 'Key', passkey: authenticator.register(made) });
    await elevenMinutesPass();
    const { body: options } = await browser.ask('POST', `${SESSION}/step-up/passkey-options`);
    expect((await stepUp({ passkey: authenticator.sign(options) })).status).toBe(200);
    expect((await makeKey()).status).toBe(201);
  });

  test('a wrong proof changes nothing, is named, and does not end the session', async () => {
    await elevenMinutesPass();
    const wrong = [await stepUp({ password: 'wrong' }), await stepUp({ code: '123456' })];
    expect(wrong.map(({ status, body }) => [status, body.details[0].field])).toEqual([
      [400, 'password'],
      [400, 'code'],
    ]);
    expect((await stepUp({})).status).toBe(400);
    expect((await stepUp({ password: account.password, code: '123456' })).status).toBe(400);
    expect((await makeKey()).body.code).toBe('step_up_required');
  });

  test('the proof of one session does not count for another', async () => {
    const other = await stage.signIn(account);
    await elevenMinutesPass();
    await stepUp({ password: account.password });
    expect((await makeKey(other)).body.code).toBe('step_up_required');
  });

  test('keys are not affected, and cannot prove anything', async () => {
    await elevenMinutesPass();
    const headers = { 'x-api-key': account.apiKey };
    expect((await stage.call('POST', KEYS, { headers, body: { operations: ['SMS'] } })).status).toBe(201);
    expect((await stage.call('POST', `${SESSION}/step-up`, { headers, body: { password: 'x' } })).status).toBe(403);
  });

  test('an operator in another account proves it with the own password', async () => {
    const operator = await stage.operator((await stage.newAccount()).accountId);
    const visiting = await stage.signIn(operator);
    await visiting.ask('PUT', `${SESSION}/account`, { accountId: account.accountId });
    await elevenMinutesPass();
    expect((await makeKey(visiting)).body.code).toBe('step_up_required');
    expect((await visiting.ask('POST', `${SESSION}/step-up`, { password: operator.password })).status).toBe(200);
    expect((await makeKey(visiting)).status).toBe(201);
  });
});

test('wrong passwords of a step-up are counted with those of sign-ins', async () => {
  await elevenMinutesPass();
  let status = 0;
  for (let i = 0; i < 40 && status !== 429; i++) status = (await stepUp({ password: `wrong ${i}` })).status;
  expect(status).toBe(429);
});

describe('where an account requires a second factor', () => {
  const require = ({ ask }: Browser = browser) =>
    ask('PUT', `${PG}/account/security`, { ipAllowList: [], enforced: false, secondFactor: 'required' });

  async function enrol({ ask }: Browser = browser) {
    const { body } = await ask('POST', `${OWN}/totp`);
    const app = new TOTP({ secret: Secret.fromBase32(body.secret) });
    const added = await ask('POST', `${OWN}/totp/confirm`, { code: app.generate() });
    expect([added.status, added.body.recoveryCodes]).toEqual([200, expect.any(Array)]);
  }

  test('users cannot require a factor that they lack', async () => {
    expect((await require()).status).toBe(409);
    await enrol();
    expect([(await require()).body.secondFactor, await entries()]).toEqual(['required', 1]);
    await require();
    expect(await entries()).toBe(1);
  });

  const entries = async (): Promise<number> => {
    const { body } = await browser.ask('GET', `${PG}/audit?action=account.second-factor`);
    return body.total ?? body.data.length;
  };

  test('a user without one can only add one, and then do everything again', async () => {
    const person = await stage.person(account.accountId, 'admin');
    const before = await stage.signIn(person);
    await enrol();
    await require();
    const refused = await before.ask('GET', KEYS);
    expect([refused.status, refused.body.code]).toEqual([403, 'second_factor_required']);
    const after = await stage.signIn(person);
    expect(after.answer.body).toMatchObject({ mustEnrol: true, operations: [] });
    for (const url of [KEYS, `${PG}/users`, `${PG}/sessions`, `${PG}/account/security`])
      expect((await after.ask('GET', url)).body.code, url).toBe('second_factor_required');
    expect((await after.ask('GET', OWN)).body).toMatchObject({ required: true, totp: null });
    await enrol(after);
    expect((await after.ask('GET', SESSION)).body).toMatchObject({ mustEnrol: false });
    expect((await after.ask('GET', KEYS)).status).toBe(200);
  });

  test('an operator of the gateway without one has no rights over other accounts either', async () => {
    const operator = await stage.operator(account.accountId);
    const visiting = await stage.signIn(operator);
    await enrol();
    await require();
    expect((await visiting.ask('GET', '/operator')).body.code).toBe('second_factor_required');
    expect((await visiting.ask('GET', SESSION)).body.user.isOperator).toBe(false);
  });

  test('the last one is not removed, and passwords are refused with Basic', async () => {
    await enrol();
    await require();
    const { status, body } = await browser.ask('DELETE', `${OWN}/totp`);
    expect([status, body.message]).toEqual([409, expect.stringContaining('add another one first')]);
    expect((await browser.ask('GET', OWN)).body.totp).not.toBeNull();
    const person = await stage.person(account.accountId, 'viewer');
    const authorization = `Basic ${Buffer.from(`${person.username}:${person.password}`).toString('base64')}`;
    expect((await stage.call('GET', `${PG}/sessions`, { headers: { authorization } })).status).toBe(403);
  });
});

describe('the factors of another user', () => {
  const lose = async (by: Browser, id: number) => (await by.ask('DELETE', `${PG}/users/${id}/second-factors`)).status;

  async function withFactor(role: 'admin' | 'viewer') {
    const person = await stage.person(account.accountId, role);
    const theirs = await stage.signIn(person);
    const { body } = await theirs.ask('POST', `${OWN}/totp`);
    const code = new TOTP({ secret: Secret.fromBase32(body.secret) }).generate();
    await theirs.ask('POST', `${OWN}/totp/confirm`, { code });
    return { person, theirs };
  }

  test('are removed by an admin, which ends the sessions of that user', async () => {
    const { person, theirs } = await withFactor('viewer');
    expect(await lose(browser, person.id)).toBe(204);
    expect(await stage.statusOf(theirs)).toBe(401);
    await stage.signIn(person);
    const { body } = await browser.ask('GET', `${PG}/audit?action=second-factor.remove`);
    expect(body.data[0]).toMatchObject({ subject: `user:${person.id}`, detail: { kind: 'all' } });
  });

  test('are not removed by users without that right, for oneself, or in another account', async () => {
    const { person, theirs } = await withFactor('viewer');
    expect(await lose(theirs, person.id)).toBe(403);
    expect(await lose(browser, Number(browser.answer.body.user.id))).toBe(403);
    const otherSession = await stage.signIn(await stage.newAccount());
    expect([await lose(otherSession, person.id), await lose(otherSession, 9_000_000_000)]).toEqual([404, 404]);
    const operator = await stage.operator(account.accountId);
    expect(await lose(browser, operator.id)).toBe(403);
  });
});

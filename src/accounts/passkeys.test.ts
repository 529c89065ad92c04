import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../test/support/http/passkeys.ts';
import { PG } from '../../test/support/http/routes.ts';
import { type Browser, HOST, OWN_PAGES, openSessionStage, SESSION } from '../../test/support/http/session-stage.ts';
import { exec, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';

const OWN = `${PG}/users/me/second-factors`;
const ORIGIN = `https://${HOST}`;
const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
let browser: Browser;
beforeEach(async () => {
  account = await stage.newAccount();
  browser = await stage.signIn(account);
});

const post = (path: string, body: object = {}) => stage.call('POST', `${SESSION}${path}`, { headers: OWN_PAGES, body });

/** Adds a new passkey in this browser. */
async function addPasskey({ ask }: Pick<Browser, 'ask'> = browser) {
  const authenticator = createAuthenticator(ORIGIN);
  const { body: options } = await ask('POST', `${OWN}/passkeys/options`);
  const passkey = authenticator.register(options);
  const added = await ask('POST', `${OWN}/passkeys`, { name: ' Laptop ', passkey });
  expect([added.status, added.body.passkey]).toMatchObject([201, { name: 'Laptop', lastUsedAt: null }]);
  return { authenticator, id: added.body.passkey.id, recoveryCodes: added.body.recoveryCodes };
}

const options = async (pendingToken?: string) =>
  (await post('/passkey-options', { ...(pendingToken && { pendingToken }) })).body;

async function begin() {
  const { username, password } = account;
  return (await post('', { username, password })).body;
}

describe('a passkey', () => {
  test('signs in without a password when its device has verified the user', async () => {
    const { authenticator, recoveryCodes } = await addPasskey();
    expect(recoveryCodes).toHaveLength(10);
    const given = await options();
    expect(given).toMatchObject({ rpId: HOST, userVerification: 'required' });
    const { status, body, headers } = await post('/passkey', { passkey: authenticator.sign(given) });
    expect([status, body]).toMatchObject([200, { user: { username: account.username }, method: 'passkey' }]);
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    expect((await stage.call('GET', SESSION, { headers: { cookie } })).status).toBe(200);
  });

  test('does not sign in without a password when its device has not', async () => {
    const { authenticator } = await addPasskey();
    const passkey = authenticator.sign(await options(), { isVerified: false });
    expect((await post('/passkey', { passkey })).status).toBe(401);
  });

  test('is a second factor after the password', async () => {
    const { authenticator } = await addPasskey();
    const { pendingToken, factors } = await begin();
    expect(factors).toEqual(['passkey', 'recovery-code']);
    const given = await options(pendingToken);
    expect(given.allowCredentials).toEqual([expect.objectContaining({ id: authenticator.id })]);
    const passkey = authenticator.sign(given, { isVerified: false });
    expect((await post('/passkey', { pendingToken, passkey })).body.method).toBe('passkey');
    expect((await post('/passkey', { pendingToken, passkey: authenticator.sign(given) })).status).toBe(404);
  });

  test('of another user does not complete a sign-in', async () => {
    await addPasskey();
    const other = await stage.signIn(await stage.newAccount());
    const { authenticator: foreign } = await addPasskey(other);
    const { pendingToken } = await begin();
    const passkey = foreign.sign(await options(pendingToken));
    expect((await post('/passkey', { pendingToken, passkey })).status).toBe(401);
  });

  test.each([
    ['a response for another origin', { origin: 'https://console.example.net' }],
    ['a response for another host', { rpId: 'example.net' }],
    ['a forged signature', { isForged: true }],
  ])('%s does not sign in', async (_, fault) => {
    const { authenticator } = await addPasskey();
    expect((await post('/passkey', { passkey: authenticator.sign(await options(), fault) })).status).toBe(401);
  });

  test('whose counter goes back, as that of a copy does, no longer signs in', async () => {
    const { authenticator } = await addPasskey();
    const sign = async (counter: number) =>
      (await post('/passkey', { passkey: authenticator.sign(await options(), { counter }) })).status;
    expect([await sign(7), await sign(7), await sign(6), await sign(8)]).toEqual([200, 401, 401, 200]);
  });

  test('that was removed no longer signs in, nor does one of a removed user', async () => {
    const { authenticator, id } = await addPasskey();
    expect((await browser.ask('DELETE', `${OWN}/passkeys/${id}`)).status).toBe(204);
    expect((await post('/passkey', { passkey: authenticator.sign(await options()) })).status).toBe(401);
    const person = await stage.person(account.accountId, 'viewer');
    const { authenticator: theirs } = await addPasskey(await stage.signIn(person));
    expect((await browser.ask('DELETE', `${PG}/users/${person.id}`)).status).toBe(204);
    expect((await post('/passkey', { passkey: theirs.sign(await options()) })).status).toBe(401);
  });

  test('does not sign in to a suspended account', async () => {
    const { authenticator } = await addPasskey();
    await exec(stage.pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${account.accountId}`);
    expect((await post('/passkey', { passkey: authenticator.sign(await options()) })).status).toBe(403);
  });

  test('is removed only by its user: that of another one gets the same response as an unknown one', async () => {
    const { id } = await addPasskey();
    const other = await stage.signIn(await stage.person(account.accountId, 'admin'));
    expect((await other.ask('DELETE', `${OWN}/passkeys/${id}`)).status).toBe(404);
    expect((await browser.ask('GET', OWN)).body.passkeys).toHaveLength(1);
  });
});

describe('a challenge', () => {
  test('counts once, also when it is used twice at the same time', async () => {
    const { authenticator } = await addPasskey();
    const given = await options();
    const tries = [1, 2, 3].map((counter) => post('/passkey', { passkey: authenticator.sign(given, { counter }) }));
    expect((await Promise.all(tries)).map(({ status }) => status).toSorted()).toEqual([200, 401, 401]);
  });

  test('is over after five minutes', async () => {
    const { authenticator } = await addPasskey();
    const given = await options();
    await exec(stage.pool, sql`UPDATE passkey_challenge SET created_at = now() - interval '301 seconds'`);
    expect((await post('/passkey', { passkey: authenticator.sign(given) })).status).toBe(401);
  });

  test('for one purpose does not serve another', async () => {
    const { authenticator } = await addPasskey();
    const { pendingToken } = await begin();
    const second = authenticator.sign(await options(pendingToken));
    expect((await post('/passkey', { passkey: second })).status).toBe(401);
    const alone = authenticator.sign(await options());
    expect((await post('/passkey', { pendingToken, passkey: alone })).status).toBe(401);
    expect((await browser.ask('POST', `${SESSION}/step-up`, { passkey: alone })).status).toBe(400);
  });

  test('that we made is needed', async () => {
    const { authenticator } = await addPasskey();
    const challenge = Buffer.alloc(32, 7).toString('base64url');
    expect((await post('/passkey', { passkey: authenticator.sign({ challenge, rpId: HOST }) })).status).toBe(401);
  });
});

describe('a registration is refused', () => {
  const register = async (fault: object) => {
    const authenticator = createAuthenticator(ORIGIN);
    const { body: given } = await browser.ask('POST', `${OWN}/passkeys/options`);
    return browser.ask('POST', `${OWN}/passkeys`, { name: 'x', passkey: authenticator.register(given, fault) });
  };

  test.each([
    ['on a page of another origin', { origin: 'https://console.example.net' }],
    ['for another host', { rpId: 'example.net' }],
    ['without a verified user', { isVerified: false }],
  ])('%s', async (_, fault) => {
    expect((await register(fault)).status).toBe(400);
  });

  test('with a challenge of another user, or one that was used', async () => {
    const other = await stage.signIn(await stage.person(account.accountId, 'viewer'));
    const { body: given } = await other.ask('POST', `${OWN}/passkeys/options`);
    const passkey = createAuthenticator(ORIGIN).register(given);
    expect((await browser.ask('POST', `${OWN}/passkeys`, { name: 'x', passkey })).status).toBe(400);
    expect((await other.ask('POST', `${OWN}/passkeys`, { name: 'x', passkey })).status).toBe(201);
    expect((await other.ask('POST', `${OWN}/passkeys`, { name: 'x', passkey })).status).toBe(400);
  });

  test('of a passkey that is registered', async () => {
    const other = await stage.signIn(await stage.person(account.accountId, 'viewer'));
    const authenticator = createAuthenticator(ORIGIN);
    const add = async ({ ask }: Browser) => {
      const { body: given } = await ask('POST', `${OWN}/passkeys/options`);
      return (await ask('POST', `${OWN}/passkeys`, { name: 'x', passkey: authenticator.register(given) })).status;
    };
    expect([await add(browser), await add(other)]).toEqual([201, 409]);
  });
});

test('unauthenticated clients can begin only so many sign-ins with a passkey', async () => {
  const from = '192.0.2.77';
  const call = () => stage.call('POST', `${SESSION}/passkey-options`, { headers: OWN_PAGES, body: {}, from });
  const statuses = (await Promise.all(Array.from({ length: 70 }, call))).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(60);
});

test('a sign-in that waits for a passkey can ask for only so many challenges, from any number of addresses', async () => {
  await addPasskey();
  const [{ pendingToken }, other] = [await begin(), await begin()];
  const ask = (token: string, from: string) =>
    stage.call('POST', `${SESSION}/passkey-options`, { headers: OWN_PAGES, body: { pendingToken: token }, from });
  const asked = Array.from({ length: 70 }, (_, i) => ask(pendingToken, `192.0.2.${i}`));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(60);
  expect((await ask(other.pendingToken, '192.0.2.1')).status).toBe(200);
});

import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { CLIENT, type Identity, type Token } from '../../test/support/oidc/provider.ts';
import { openSignOnStage, settingsFor } from '../../test/support/oidc/stage.ts';
import { SCOPES } from '../core/actor.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { createAccount } from '../operate/account-commands.ts';
import { operatorAuthor } from './audit.ts';
import { hashed } from './password.ts';
import { deleteExpiredStates } from './single-sign-on.ts';
import { addUser, changeOperator } from './users.ts';

/** A key that no provider has. */
const FOREIGN_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ format: 'pem', type: 'pkcs8' })
  .toString();

let stage: Awaited<ReturnType<typeof openSignOnStage>>;
beforeAll(async () => {
  stage = await openSignOnStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

let people = 0;
/** A person who has not been here yet. */
function newPerson(more: Partial<Identity> = {}): Identity {
  people += 1;
  return { sub: `person-${people}`, email: `person${people}@example.com`, email_verified: true, ...more };
}

beforeEach(async () => {
  stage.provider.person = newPerson();
  expect(await stage.put()).toMatchObject({ status: 200 });
  await stage.prove();
});
afterEach(() => {
  Object.assign(stage.provider, { forge: null, isDown: false, sendsIssuer: true });
});

const problemOf = ({ status, location, cookies }: { status: number; location: string; cookies: readonly string[] }) => {
  expect(cookies.some((pair) => pair.startsWith('__Host-heliograph='))).toBe(false);
  return [status, location];
};
const refused = (problem: string) => [303, `/sign-in?problem=${problem}`];
const usersNamed = (username: string) =>
  many<{ id: number; role: string }>(
    stage.program.pool,
    sql`SELECT id, role FROM app_user WHERE username = ${username}`,
  );

async function addPerson(username: string, role: 'viewer' | 'admin' = 'viewer') {
  const { pool, account } = stage.program;
  const by = { ...operatorAuthor(account.accountId), role: 'admin', operations: new Set(SCOPES) } as const;
  const actor = { ...by, plan: 'unlimited', channels: new Set<never>(), numberRules: DEFAULT_NUMBER_RULES } as const;
  return addUser(pool, actor, { username, role, ...(await hashed('correct horse battery', { by: 'test' })) });
}

describe('a sign-in', () => {
  test('creates the user, with the verified address as the username, and a session', async () => {
    const answer = await stage.signIn();
    expect([answer.status, answer.location]).toEqual([303, '/']);
    const { status, body } = await stage.sessionOf(answer);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      user: { username: stage.provider.person?.email },
      role: 'viewer',
      method: 'single-sign-on',
    });
  });

  test('begins with an address of the company, too', async () => {
    const answer = await stage.signIn('Somebody@Example.com');
    expect((await stage.sessionOf(answer)).status).toBe(200);
  });

  test('finds the same user again, also under a new address', async () => {
    const person = stage.provider.person;
    const first = await stage.sessionOf(await stage.signIn());
    stage.provider.person = { ...newPerson(), sub: person?.sub ?? '' };
    const second = await stage.sessionOf(await stage.signIn());
    expect(second.body.user.id).toBe(first.body.user.id);
  });

  test('links a user of the account who has this address as the username', async () => {
    const { id } = await addPerson(stage.provider.person?.email ?? '');
    const { body } = await stage.sessionOf(await stage.signIn());
    expect(body.user.id).toBe(id);
  });

  test('leads to the page that was asked for, and never to another site', async () => {
    expect((await stage.signIn('acme', '/campaigns?page=2')).location).toBe('/campaigns?page=2');
    for (const next of ['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)'])
      expect((await stage.signIn('acme', next)).location).toBe('/');
  });

  test('names the user after the subject if the provider confirms no address', async () => {
    await stage.put({ emailDomains: [], defaultRole: null });
    stage.provider.person = { ...newPerson({ groups: ['staff'] }), email_verified: false };
    const { body } = await stage.sessionOf(await stage.signIn());
    expect(body.user.username).toMatch(/^acme\.[0-9a-f]{16}$/);
  });

  test('can be begun a limited number of times from one network', async () => {
    const begin = () =>
      stage.ask('POST', `${PG}/session/single-sign-on`, { body: { company: 'nobody' }, from: '203.0.113.9' });
    const answers = await Promise.all(Array.from({ length: 25 }, begin));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5);
  });

  test('of an unknown company is 404', async () => {
    const { status } = await stage.ask('POST', `${PG}/session/single-sign-on`, { body: { company: 'nobody' } });
    expect(status).toBe(404);
  });

  test('of another site is refused', async () => {
    const answer = await fetch(`${stage.program.origin()}${PG}/session/single-sign-on`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site', 'x-forwarded-proto': 'https' },
      body: JSON.stringify({ company: 'acme' }),
    });
    expect(answer.status).toBe(403);
  });
});

describe('the role', () => {
  test('follows the groups at each sign-in', async () => {
    const person = newPerson({ groups: ['staff'] });
    stage.provider.person = person;
    expect((await stage.sessionOf(await stage.signIn())).body.role).toBe('sender');
    stage.provider.person = { ...person, groups: [] };
    expect((await stage.sessionOf(await stage.signIn())).body.role).toBe('viewer');
  });

  test('of a person whose groups have none is no sign-in, and ends the earlier sessions', async () => {
    await stage.put({ defaultRole: null });
    const person = newPerson({ groups: ['staff'] });
    stage.provider.person = person;
    const before = await stage.signIn();
    expect((await stage.sessionOf(before)).status).toBe(200);
    stage.provider.person = { ...person, groups: ['others'] };
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
    expect((await stage.sessionOf(before)).status).toBe(401);
  });

  test('of a person who was refused is none by password either, until the provider lets them in again', async () => {
    await stage.put({ defaultRole: null });
    const person = newPerson({ groups: ['staff'] });
    await addPerson(person.email ?? '');
    const byPassword = async () => {
      const body = { username: person.email, password: 'correct horse battery' };
      return (await stage.ask('POST', `${PG}/session`, { body })).status;
    };
    stage.provider.person = person;
    await stage.signIn();
    expect(await byPassword()).toBe(200);
    stage.provider.person = { ...person, groups: ['others'] };
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
    expect(await byPassword()).toBe(403);
    stage.provider.person = person;
    await stage.signIn();
    expect(await byPassword()).toBe(200);
  });

  test('of the last admin stays, so that the account keeps one', async () => {
    await stage.program.pool.query(`UPDATE app_user SET role = 'viewer' WHERE role = 'admin' AND username <> 'acme'`);
    const email = 'lastadmin@example.com';
    await addPerson(email, 'admin');
    await stage.program.pool.query(`UPDATE app_user SET role = 'viewer' WHERE username = 'acme'`);
    stage.provider.person = newPerson({ email });
    expect((await stage.sessionOf(await stage.signIn())).body.role).toBe('admin');
    await stage.program.pool.query(`UPDATE app_user SET role = 'admin' WHERE username = 'acme'`);
    expect((await stage.sessionOf(await stage.signIn())).body.role).toBe('viewer');
  });
});

describe('a sign-in fails', () => {
  test('with an address of another domain', async () => {
    stage.provider.person = newPerson({ email: 'eve@example.org' });
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
    expect(await usersNamed('eve@example.org')).toEqual([]);
  });

  test('with an address that the provider has not verified', async () => {
    stage.provider.person = newPerson({ email_verified: false });
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
  });

  test('as an operator of the gateway', async () => {
    const { pool, account } = stage.program;
    const { id } = await addPerson(stage.provider.person?.email ?? '');
    await changeOperator(pool, operatorAuthor(account.accountId), { id, isOperator: true });
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
  });

  test('as a user who is another person of the provider', async () => {
    await stage.signIn();
    stage.provider.person = newPerson({ email: stage.provider.person?.email ?? '' });
    expect(problemOf(await stage.signIn())).toEqual(refused('not_allowed'));
  });

  test('from an address that is not on the allow-list of the account', async () => {
    const { pool } = stage.program;
    await pool.query(`UPDATE account SET ip_allow_list = '{203.0.113.0/24}', ip_allow_list_enforced = true`);
    const answer = await stage.signIn();
    await pool.query(`UPDATE account SET ip_allow_list_enforced = false`);
    expect(problemOf(answer)).toEqual(refused('not_allowed'));
  });

  test('with an unknown state', async () => {
    const back = await stage.begin();
    back.parameters.set('state', 'A'.repeat(43));
    expect(problemOf(await stage.arrive(back))).toEqual(refused('expired'));
  });

  test('in another browser than the one that began', async () => {
    const [mine, theirs] = [await stage.begin(), await stage.begin()];
    expect(problemOf(await stage.arrive({ ...mine, cookie: theirs.cookie }))).toEqual(refused('expired'));
    const { path: there, parameters } = theirs;
    expect(problemOf(await stage.arrive({ path: there, parameters }))).toEqual(refused('expired'));
  });

  test('twice with the same response of the provider', async () => {
    const back = await stage.begin();
    expect((await stage.arrive(back)).location).toBe('/');
    expect(problemOf(await stage.arrive(back))).toEqual(refused('expired'));
  });

  test('with a code that was used already', async () => {
    const used = await stage.begin();
    await stage.arrive(used);
    const back = await stage.begin();
    back.parameters.set('code', used.parameters.get('code') ?? '');
    expect(problemOf(await stage.arrive(back))).toEqual(refused('untrusted'));
  });

  test('after ten minutes', async () => {
    const back = await stage.begin();
    await stage.program.pool.query(`UPDATE single_sign_on_state SET expires_at = now()`);
    expect(problemOf(await stage.arrive(back))).toEqual(refused('expired'));
    await stage.begin();
    await stage.program.pool.query(`UPDATE single_sign_on_state SET expires_at = now()`);
    expect(await deleteExpiredStates(stage.program.pool)).toBeGreaterThan(0);
  });

  test('when the settings were changed meanwhile', async () => {
    const back = await stage.begin();
    await stage.put({ groupRoles: [{ group: 'other', role: 'sender' }] });
    expect(problemOf(await stage.arrive(back))).toEqual(refused('expired'));
  });

  test('when single sign-on was switched off meanwhile', async () => {
    const back = await stage.begin();
    await stage.put({ enabled: false, clientSecret: undefined });
    expect(problemOf(await stage.arrive(back))).toEqual(refused('not_allowed'));
  });

  test('who cancels at the provider', async () => {
    stage.provider.person = null;
    expect(problemOf(await stage.signIn())).toEqual(refused('cancelled'));
  });

  test('while the provider is down', async () => {
    const back = await stage.begin();
    stage.provider.isDown = true;
    expect(problemOf(await stage.arrive(back))).toEqual(refused('unavailable'));
    const { status } = await stage.ask('POST', `${PG}/session/single-sign-on`, { body: { company: 'acme' } });
    expect(status).toBe(502);
  });

  test('with a client secret that the provider does not accept', async () => {
    await stage.put({ clientSecret: 'another' });
    expect(problemOf(await stage.signIn())).toEqual(refused('untrusted'));
  });

  test.each<[string, (token: Token) => void]>([
    ['of another nonce', ({ claims }) => Object.assign(claims, { nonce: 'another' })],
    ['without a nonce', ({ claims }) => void delete claims['nonce']],
    ['for another audience', ({ claims }) => Object.assign(claims, { aud: 'another' })],
    ['of another issuer', ({ claims }) => Object.assign(claims, { iss: 'https://evil.example' })],
    ['that has expired', ({ claims }) => Object.assign(claims, { exp: 1_700_000_000, iat: 1_699_990_000 })],
    ['that is not signed', ({ header }) => Object.assign(header, { alg: 'none' })],
    ['signed with a foreign key', (token) => Object.assign(token, { key: FOREIGN_KEY })],
    ['signed with a key that the provider does not list', ({ header }) => Object.assign(header, { kid: 'other' })],
  ])('by an ID token %s', async (_, forge) => {
    stage.provider.forge = forge;
    expect(problemOf(await stage.signIn())).toEqual(refused('untrusted'));
    expect(await usersNamed(stage.provider.person?.email ?? '')).toEqual([]);
  });
});

test('a new signing key of the provider is accepted at once', async () => {
  expect((await stage.signIn()).location).toBe('/');
  stage.provider.rotateKey();
  expect((await stage.sessionOf(await stage.signIn())).status).toBe(200);
});

describe('the settings', () => {
  const path = `${PG}/account/single-sign-on`;

  test('never show the client secret, and keep it until another is set', async () => {
    await stage.put({ clientSecret: undefined });
    const answer = await stage.read();
    expect(answer.settings).toMatchObject({ hasClientSecret: true, shortName: 'acme' });
    expect(JSON.stringify(answer)).not.toContain(CLIENT.secret);
    expect((await stage.sessionOf(await stage.signIn())).status).toBe(200);
    const [row] = await many<{ text: string }>(
      stage.program.pool,
      sql`SELECT encode(client_secret, 'escape') AS text FROM single_sign_on`,
    );
    expect(row?.text).not.toContain(CLIENT.secret);
  });

  test.each([
    [{ issuer: 'http://login.example.com' }, 'issuer'],
    [{ issuer: 'https://10.0.0.1' }, 'issuer'],
    [{ issuer: 'https://login.example.com:22' }, 'issuer'],
    // A port of webhooks.
    [{ issuer: 'https://login.example.com:8443' }, 'issuer'],
    [{ scopes: ['email'] }, 'scopes'],
    [{ emailDomains: [] }, 'defaultRole'],
    [{ groupsClaim: null }, 'groupsClaim'],
    [{ defaultRole: null, groupRoles: [] }, 'groupRoles'],
    [{ required: true, enabled: false }, 'required'],
    [{ required: true }, 'emergencyUserId'],
  ])('%o are refused', async (changes, field) => {
    const { status, body } = await stage.put(changes);
    expect([status, body.details?.[0]?.field]).toEqual([400, field]);
  });

  test('of another account cannot have the short name that is taken', async () => {
    const otherAccount = await createAccount(stage.program.pool, { name: 'Neighbour', plan: 'unlimited' });
    const put = (changes: object) =>
      stage.ask('PUT', path, { key: otherAccount.apiKey, body: { ...settingsFor(stage.provider.issuer), ...changes } });
    expect((await put({})).status).toBe(409);
    expect((await put({ shortName: 'neighbour', enabled: false })).status).toBe(200);
  });

  test('are required only after a successful trial, and then passwords sign in no more but one', async () => {
    const { program, provider, ask, put } = stage;
    const [owner] = await usersNamed(program.account.username);
    const required = { required: true, emergencyUserId: owner?.id, clientSecret: undefined };
    expect((await put(required)).status).toBe(409);

    const tried = async () => {
      const begun = await ask('POST', `${path}/trial`, { key: program.account.apiKey });
      expect(problemOf(await stage.arrive(await stage.comeBack(begun)))).toEqual([303, '/security/single-sign-on']);
      return (await stage.read()).settings.lastTrial;
    };
    provider.person = newPerson({ email: 'eve@example.org', groups: ['staff'] });
    expect(await tried()).toMatchObject({
      problem: 'not_allowed',
      isCurrent: true,
      email: 'eve@example.org',
      role: null,
    });
    expect((await put(required)).status).toBe(409);
    provider.person = newPerson({ groups: ['staff'] });
    expect(await tried()).toMatchObject({ problem: null, groups: ['staff'], role: 'sender', isCurrent: true });
    expect(await usersNamed(provider.person.email ?? '')).toEqual([]);

    const other = await addPerson('withpassword');
    expect((await put(required)).status).toBe(200);
    const signIn = (username: string, password: string) =>
      ask('POST', `${PG}/session`, { body: { username, password } });
    expect((await signIn('withpassword', 'correct horse battery')).status).toBe(403);
    expect((await signIn('withpassword', 'wrong wrong wrong')).status).toBe(401);
    expect((await signIn(program.account.username, program.account.password)).status).toBe(200);
    const basic = await fetch(`${program.origin()}${PG}/users/${other.id}`, {
      headers: { 'x-forwarded-proto': 'https', authorization: `Basic ${btoa('withpassword:correct horse battery')}` },
    });
    expect(basic.status).toBe(403);
    expect((await put({ clientSecret: undefined })).status).toBe(200);
    expect((await signIn('withpassword', 'correct horse battery')).status).toBe(200);
  });

  test('need no second factor here where the account requires one: the provider is responsible for its users', async () => {
    const { pool, account } = stage.program;
    const demand = (value: string) =>
      exec(pool, sql`UPDATE account SET second_factor = ${value} WHERE id = ${account.accountId}`);
    await demand('required');
    try {
      expect((await stage.sessionOf(await stage.signIn())).body).toMatchObject({ mustEnrol: false });
    } finally {
      await demand('optional');
    }
  });

  test('with a changed provider need another trial', async () => {
    await stage.put({ clientSecret: undefined, defaultRole: 'sender' });
    const { settings } = await stage.read();
    expect(settings.lastTrial?.isCurrent ?? false).toBe(false);
    expect(settingsFor('').required).toBe(false);
  });

  test('can be removed; the users stay', async () => {
    await stage.signIn();
    const email = stage.provider.person?.email ?? '';
    expect((await stage.ask('DELETE', path, { key: stage.program.account.apiKey })).status).toBe(204);
    expect(await stage.read()).toMatchObject({ settings: null });
    expect(await usersNamed(email)).toHaveLength(1);
    expect((await stage.ask('GET', `${PG}/session/options`)).body).toEqual({
      singleSignOn: false,
      passwordReset: false,
    });
  });
});

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openSignOnStage, PUBLIC_URL, settingsFor } from '../../test/support/oidc/stage.ts';
import { many, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';

let stage: Awaited<ReturnType<typeof openSignOnStage>>;
beforeAll(async () => {
  stage = await openSignOnStage();
  stage.provider.person = { sub: 'anna', email: 'anna@example.com', email_verified: true };
  expect(await stage.put()).toMatchObject({ status: 200 });
  await stage.prove();
});
afterAll(() => stage[Symbol.asyncDispose]());
afterEach(() => {
  stage.provider.sendsIssuer = true;
});

const EXPIRED = '/sign-in?problem=expired';
const UNTRUSTED = '/sign-in?problem=untrusted';
const countStates = async () => (await many(stage.program.pool, sql`SELECT FROM single_sign_on_state`)).length;

test('each account has an unguessable redirect URI, before there are settings and whatever becomes of them', async () => {
  const { pool } = stage.program;
  const other = await createAccount(pool, { name: 'Other', plan: 'unlimited' });
  const { redirectUri, settings } = await stage.read(other.apiKey);
  expect(settings).toBeNull();
  expect(redirectUri).toMatch(new RegExp(`^${PUBLIC_URL}/oauth/single-sign-on/callback/[0-9a-f]{64}$`));
  expect(redirectUri).not.toBe((await stage.read()).redirectUri);
  const path = '/api/partner-gateway/v1/account/single-sign-on';
  const asOther = (method: string, body?: object) =>
    stage.ask(method, path, { key: other.apiKey, ...(body && { body }) });
  const own = { ...settingsFor(stage.provider.issuer), shortName: 'other' };
  for (const clientId of ['one', 'two'])
    expect((await asOther('PUT', { ...own, clientId })).body.redirectUri).toBe(redirectUri);
  expect((await asOther('DELETE')).status).toBe(204);
  expect((await stage.read(other.apiKey)).redirectUri).toBe(redirectUri);
});

test('the response counts at the redirect URI of its account alone, and at another one uses its state up', async () => {
  const other = await createAccount(stage.program.pool, { name: 'Third', plan: 'unlimited' });
  const foreign = new URL((await stage.read(other.apiKey)).redirectUri).pathname;
  for (const path of [foreign, foreign.replace(/.{64}$/, 'unknown')]) {
    const back = await stage.begin();
    const answer = await stage.arrive({ ...back, path });
    expect([answer.status, answer.location]).toEqual([303, EXPIRED]);
    expect(answer.cookies.filter((pair) => pair.startsWith('__Host-heliograph='))).toEqual([]);
    expect((await stage.arrive(back)).location).toBe(EXPIRED);
  }
});

test('a response without a state, at any redirect URI, uses nothing up', async () => {
  const back = await stage.begin();
  const before = await countStates();
  const { path } = back;
  for (const parameters of [new URLSearchParams(), new URLSearchParams({ code: 'x', state: 'unknown' })])
    expect((await stage.arrive({ ...back, path, parameters })).location).toBe(EXPIRED);
  expect(await countStates()).toBe(before);
  expect((await stage.arrive(back)).location).toBe('/');
});

test('a response to a sign-in that an earlier version began is refused', async () => {
  const back = await stage.begin();
  await stage.program.pool.query('UPDATE single_sign_on_state SET redirect_uri = NULL');
  expect((await stage.arrive(back)).location).toBe(EXPIRED);
});

test('the issuer in a response must be that of the provider', async () => {
  for (const sendsIssuer of [true, false]) {
    stage.provider.sendsIssuer = sendsIssuer;
    const back = await stage.begin();
    expect(back.parameters.get('iss')).toBe(sendsIssuer ? stage.provider.issuer : null);
    back.parameters.set('iss', 'https://login.example.org');
    expect((await stage.arrive(back)).location).toBe(UNTRUSTED);
  }
});

test('a response needs an issuer where the provider announces it, and nowhere else', async () => {
  const stripped = await stage.begin();
  stripped.parameters.delete('iss');
  expect((await stage.arrive(stripped)).location).toBe(UNTRUSTED);
  stage.provider.sendsIssuer = false;
  expect((await stage.signIn()).location).toBe('/');
});

test('an address may return from a provider sixty times a minute', async () => {
  const { path } = await stage.begin();
  const statuses = new Set<number>();
  for (let n = 0; n <= 60; n++)
    statuses.add((await stage.ask('GET', `${path}?state=unknown`, { from: '203.0.113.40' })).status);
  expect([...statuses]).toEqual([303, 429]);
});

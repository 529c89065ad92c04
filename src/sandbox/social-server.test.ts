import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLATFORMS } from '../core/channels.ts';
import { type SandboxSocial, startSandboxSocial } from './social-server.ts';

const PUBLIC_URL = 'https://gateway.test';
const KEY = Buffer.alloc(32, 7);

let social: SandboxSocial;
beforeAll(async () => {
  social = await startSandboxSocial({ publicUrl: () => PUBLIC_URL, key: KEY });
});
afterAll(() => social.close());

/** Opens the consent page of LinkedIn, with parameters in addition to the usual ones. */
async function openPage(more: Record<string, string> = {}) {
  const query = new URLSearchParams({
    client_id: social.clients.linkedin.clientId,
    redirect_uri: `${PUBLIC_URL}/oauth/linkedin/callback`,
    response_type: 'code',
    scope: 'openid profile',
    state: '"><b>state',
    ...more,
  });
  const url = `${social.url}/www.linkedin.com/oauth/v2/authorization?${query}`;
  const answer = await fetch(url, { redirect: 'manual' });
  const location = answer.headers.get('location');
  return { answer, text: await answer.text(), back: location === null ? null : new URL(location) };
}

const exchange = async (code: string, more: Record<string, string> = {}) => {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: social.clients.linkedin.clientId,
    client_secret: social.clients.linkedin.clientSecret,
    redirect_uri: `${PUBLIC_URL}/oauth/linkedin/callback`,
    code,
    ...more,
  });
  const answer = await fetch(`${social.url}/www.linkedin.com/oauth/v2/accessToken`, { method: 'POST', body });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
};

const granted = { sandbox_decision: 'grant', sandbox_linked: '3', sandbox_lifetime: '60', sandbox_renewable: 'yes' };

test('the consent page says that it is a sandbox, runs no script, and takes no parameter for markup', async () => {
  const { answer, text } = await openPage();
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).toMatch(/This is not LinkedIn[^]*openid[^]*Grant access[^]*Refuse/);
  expect(text).not.toMatch(/<script|"><b>/);
});

test('a person grants, refuses, or has the network refuse the app; each goes back with the state', async () => {
  const yes = (await openPage(granted)).back;
  expect([yes?.origin, yes?.searchParams.get('state')]).toEqual([PUBLIC_URL, '"><b>state']);
  expect(await exchange(yes?.searchParams.get('code') ?? '')).toMatchObject({
    status: 200,
    json: { scope: 'openid,profile', expires_in: 60 },
  });
  const no = (await openPage({ sandbox_decision: 'refuse' })).back;
  expect([no?.searchParams.get('error'), no?.searchParams.has('code')]).toEqual(['user_cancelled_authorize', false]);
  const unapproved = (await openPage({ sandbox_decision: 'unapproved' })).back;
  expect(unapproved?.searchParams.get('error_description')).toBe(
    'Scope "profile" is not authorized for your application',
  );
});

test('a code is worthless after one try, or for another redirect URI', async () => {
  const code = (await openPage(granted)).back?.searchParams.get('code') ?? '';
  expect((await exchange(code, { redirect_uri: 'https://elsewhere.test' })).json).toMatchObject({
    error: 'invalid_grant',
  });
  expect((await exchange(code)).json).toMatchObject({ error: 'invalid_grant' });
  expect((await openPage({ redirect_uri: 'https://elsewhere.test' })).answer.status).toBe(400);
});

test('tokens outlive a restart with the same key, and nothing else passes for one', async () => {
  const { json } = await exchange((await openPage(granted)).back?.searchParams.get('code') ?? '');
  const read = async (server: SandboxSocial, token: string) =>
    (await fetch(`${server.url}/api.linkedin.com/v2/userinfo`, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  const token = String(json['access_token']);
  expect(await read(social, token)).toBe(200);
  const next = await startSandboxSocial({ publicUrl: () => PUBLIC_URL, key: KEY });
  const other = await startSandboxSocial({ publicUrl: () => PUBLIC_URL });
  expect(await read(next, token)).toBe(200);
  expect(await read(next, `${token.slice(0, -2)}AA`)).toBe(401);
  expect(await read(next, String(json['refresh_token']))).toBe(401);
  expect(await read(other, token)).toBe(401);
  await Promise.all([next.close(), other.close()]);
});

test('only the pages for people can be served by another server', () => {
  expect(social.page('www.linkedin.com/oauth/v2/accessToken', new URLSearchParams())).toMatchObject({ status: 404 });
  expect(social.page('www.facebook.com/v25.0/dialog/oauth', new URLSearchParams())).toMatchObject({ status: 400 });
  expect(Object.keys(social.clients)).toEqual([...PLATFORMS]);
});

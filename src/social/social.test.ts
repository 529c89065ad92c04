import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type OauthServer, startOauthServer } from '../../test/support/oauth/server.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { reset } from '../../test/support/reset.ts';
import { PLATFORMS, type Platform } from '../core/channels.ts';
import { loadConfig } from '../core/config.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { DAY_MS } from '../core/time.ts';
import type { SocialDeps } from './network.ts';
import { findProfile, openTokens, refreshNext } from './profiles.ts';

const SOCIALS = '/api/partner-gateway/v1/socials';

let networks: OauthServer;
let program: TestProgram;
let usual: OauthServer['script'];
beforeAll(async () => {
  networks = await startOauthServer();
  usual = { ...networks.script };
  // Without a worker: tests refresh at times that they choose.
  program = await startTestProgram({ roles: { worker: false }, environment: networks.environment });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await networks[Symbol.asyncDispose]();
});
beforeEach(async () => {
  Object.assign(networks.script, usual);
  await reset(program.pool, sql`TRUNCATE social_profile, social_state`);
});

const basic = () => ({
  'x-api-key': '',
  authorization: `Basic ${Buffer.from(`${program.account.username}:${program.account.password}`).toString('base64')}`,
});

async function begin(platform: Platform, headers: Record<string, string> = {}) {
  const answer = await program.client.request('POST', `${SOCIALS}/${platform}/connect`, { headers });
  const { authorizeUrl } = answer.body as { authorizeUrl: string };
  return { ...answer, authorizeUrl, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Follows the redirect of the network back to us, as a browser does. */
const comeBack = (back: URL | undefined, headers: Record<string, string> = {}) =>
  program.client.request('GET', `${back?.pathname}${back?.search}`, { headers: { 'x-api-key': '', ...headers } });

const connect = async (platform: Platform) => comeBack(await networks.visit((await begin(platform)).authorizeUrl));
const show = (platform: string) => program.client.request('GET', `${SOCIALS}/${platform}`);
const countProfiles = async () =>
  (await one<{ n: number }>(program.pool, sql`SELECT count(*) AS n FROM social_profile`)).n;

const PEOPLE: Readonly<Record<Platform, object>> = {
  facebook: { username: null, profileName: 'Ada Acme', linkedCount: 3 },
  instagram: { username: 'acme', profileName: 'Acme', linkedCount: 0 },
  linkedin: { username: 'ada@acme.test', profileName: 'Ada Acme', linkedCount: 0 },
  google: { username: 'ada@acme.test', profileName: 'Ada Acme', linkedCount: 3 },
  tiktok: { username: null, profileName: 'Acme', linkedCount: 0 },
};

describe.each(PLATFORMS)('%s', (platform) => {
  test('is connected by a code, and shown with what is linked and without its tokens', async () => {
    const answer = await connect(platform);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const { body } = await show(platform);
    expect(body).toMatchObject({ platform, disconnected: false, ...PEOPLE[platform] });
    const list = await program.client.request('GET', SOCIALS);
    expect(list.body).toEqual([expect.objectContaining({ platform })]);
    expect(JSON.stringify([body, list.body])).not.toMatch(/token"|access|secret/);
    const expires = Date.parse((body as { tokenExpiresAt: string }).tokenExpiresAt);
    expect(expires).toBeGreaterThan(Date.now() + 50 * DAY_MS);
  });

  test('is revoked if the network supports that, and deleted', async () => {
    await connect(platform);
    const good = networks.validTokens(platform).length;
    expect((await program.client.request('DELETE', `${SOCIALS}/${platform}`)).status).toBe(204);
    expect(networks.validTokens(platform)).toHaveLength(platform === 'instagram' ? good : 0);
    const none = { status: 404, body: { message: 'No profile of this network is connected' } };
    expect(await show(platform.toUpperCase())).toMatchObject(none);
    expect((await program.client.request('DELETE', `${SOCIALS}/${platform}`)).status).toBe(404);
  });

  test('a state is valid once, and nothing is connected when the person refuses', async () => {
    const back = await networks.visit((await begin(platform)).authorizeUrl);
    expect((await comeBack(back)).status).toBe(200);
    await reset(program.pool, sql`TRUNCATE social_profile`);
    expect((await comeBack(back)).status).toBe(400);
    networks.script.cancel = true;
    expect((await connect(platform)).status).toBe(400);
    expect(await countProfiles()).toBe(0);
  });
});

test('a returning person reads in their language that the profile is connected, on a page with a link to the profiles', async () => {
  const backFrom = async (language: string) =>
    comeBack(await networks.visit((await begin('google')).authorizeUrl), { 'accept-language': language });
  const english = await backFrom('fr, en;q=0.8, it;q=0.5');
  expect(english.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(english.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(english.body).toMatch(
    /<html lang="en">[^]*Google is connected[^]*<a href="\/social">Back to the console<\/a>/,
  );
  const italian = await backFrom('it-IT,it;q=0.9,en;q=0.8');
  expect(italian.body).toMatch(/<html lang="it">[^]*Google è collegato[^]*<a href="\/social">Torna alla console<\/a>/);
});

test('a person who refuses, or returns with an expired state, reads so on such a page, and no text is taken for markup', async () => {
  const page = { accept: 'text/html,*/*;q=0.8', 'accept-language': 'it' };
  networks.script.cancel = true;
  const refused = await comeBack(await networks.visit((await begin('google')).authorizeUrl), page);
  expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  expect(refused.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(refused.body).toMatch(
    /Non è stato possibile collegare Google[^]*<blockquote><p>access_denied<\/p>[^]*ricollega il profilo[^]*href="\/social"/,
  );
  networks.script.cancel = false;
  const back = await networks.visit((await begin('google')).authorizeUrl);
  back?.searchParams.delete('code');
  back?.searchParams.append('error', 'x');
  back?.searchParams.append('error_description', '<img src=x onerror=alert(1)>');
  const hostile = await comeBack(back, page);
  expect(hostile.status).toBeGreaterThanOrEqual(400);
  expect(hostile.body).not.toContain('<img');
});

test('a network that is not configured is 502 naming what is missing, and an unknown one 404', async () => {
  await using bare = await startTestProgram({ roles: { worker: false }, environment: { GOOGLE_CLIENT_ID: 'x' } });
  const connectAt = (platform: string) => bare.client.request('POST', `${SOCIALS}/${platform}/connect`);
  expect(await connectAt('facebook')).toMatchObject({
    status: 502,
    body: { message: 'Not configured: FACEBOOK_CLIENT_ID and FACEBOOK_CLIENT_SECRET on the server' },
  });
  expect(await connectAt('google')).toMatchObject({
    status: 502,
    body: { message: 'Not configured: GOOGLE_CLIENT_SECRET on the server' },
  });
  expect(await connectAt('myspace')).toMatchObject({
    status: 404,
    body: { message: 'The networks are facebook, instagram, linkedin, google, tiktok' },
  });
});

test('a state expires after ten minutes, and belongs to its network', async () => {
  const late = await networks.visit((await begin('google')).authorizeUrl);
  await exec(program.pool, sql`UPDATE social_state SET expires_at = now() - interval '1 second'`);
  expect((await comeBack(late)).status).toBe(400);
  const other = await networks.visit((await begin('google')).authorizeUrl);
  if (other) other.pathname = '/oauth/linkedin/callback';
  expect((await comeBack(other)).status).toBe(400);
  expect(await countProfiles()).toBe(0);
});

test('a connection that a person started can be finished in the same browser only', async () => {
  const other = await begin('google', basic());
  const { authorizeUrl } = await begin('google', basic());
  expect((await comeBack(await networks.visit(authorizeUrl), { cookie: other.cookie })).status).toBe(400);
  expect((await comeBack(await networks.visit((await begin('google', basic())).authorizeUrl))).status).toBe(400);
  expect(other.headers.get('set-cookie')).toMatch(/^__Host-.*; Secure; HttpOnly; SameSite=Lax$/);
  const own = await comeBack(await networks.visit(other.authorizeUrl), { cookie: `a=b; ${other.cookie}` });
  expect(own.status).toBe(200);
});

test('a response of another issuer, with two states, or for a suspended account is refused', async () => {
  networks.script.iss = 'https://evil.test';
  expect((await connect('google')).status).toBe(502);
  networks.script.iss = 'https://accounts.google.com';
  expect((await connect('google')).status).toBe(200);
  await reset(program.pool, sql`TRUNCATE social_profile`);
  const doubled = await networks.visit((await begin('google')).authorizeUrl);
  doubled?.searchParams.append('state', 'another');
  expect((await comeBack(doubled)).status).toBe(400);
  const suspended = await networks.visit((await begin('google')).authorizeUrl);
  await exec(program.pool, sql`UPDATE account SET status = 'suspended'`);
  expect((await comeBack(suspended)).status).toBe(400);
  await exec(program.pool, sql`UPDATE account SET status = 'active'`);
  expect(await countProfiles()).toBe(0);
});

test('a code is worthless if the challenge was removed from the URL', async () => {
  const url = new URL((await begin('google')).authorizeUrl);
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  url.searchParams.delete('code_challenge');
  url.searchParams.delete('code_challenge_method');
  expect((await comeBack(await networks.visit(url.href))).status).toBe(502);
  expect(await countProfiles()).toBe(0);
});

test('without a required scope, or without a page, nothing is connected, and the response says what is missing', async () => {
  networks.script.without = ['instagram_business_basic', 'pages_show_list'];
  expect(await connect('instagram')).toMatchObject({
    status: 400,
    body: {
      message:
        'Instagram did not grant instagram_business_basic. Connect the profile again, and leave everything selected.',
    },
  });
  expect(await connect('facebook')).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('Facebook did not grant pages_show_list.') },
  });
  Object.assign(networks.script, { without: [], pages: 0 });
  expect(await connect('facebook')).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('No page was granted.') },
  });
  expect(await countProfiles()).toBe(0);
});

test.each(['facebook', 'google'] as const)(
  'all of 250 linked pages or locations of %s are stored',
  async (platform) => {
    networks.script.pages = 250;
    await connect(platform);
    const { body } = await show(platform);
    const { linked } = body as { linked: { id: string }[] };
    expect(new Set(linked.map(({ id }) => id)).size).toBe(250);
  },
);

test('a project that Google has not approved is connected without locations, and says why there are none', async () => {
  networks.script.noQuota = true;
  expect((await connect('google')).status).toBe(200);
  expect((await show('google')).body).toMatchObject({
    linkedCount: 0,
    linkedFault: 'Quota exceeded: 0 per minute (429)',
  });
  const back = await networks.visit((await begin('google')).authorizeUrl);
  const page = await comeBack(back, { accept: 'text/html' });
  expect(page.body).toMatch(/Google is connected[^]*did not list[^]*<blockquote><p>Quota exceeded/);
  networks.script.noQuota = false;
  await connect('google');
  expect((await show('google')).body).toMatchObject({ linkedCount: 3, linkedFault: null });
});

test('an error response is passed on in the words of the network, in one line, bounded, and without tokens', async () => {
  const answerWith = async (parameters: Record<string, string>, headers = {}) => {
    const back = await networks.visit((await begin('linkedin')).authorizeUrl);
    back?.searchParams.delete('code');
    for (const [name, value] of Object.entries(parameters)) back?.searchParams.append(name, value);
    return comeBack(back, headers);
  };
  const messageOf = ({ body }: { body: unknown }) => (body as { message: string }).message;
  networks.script.unapproved = ['w_member_social'];
  const refused = await connect('linkedin');
  expect([refused.status, messageOf(refused)]).toEqual([
    400,
    'The app of this server may not ask LinkedIn for all of its scopes. Its administrator can remove scopes from ' +
      'LINKEDIN_SCOPES, or have LinkedIn approve them. LinkedIn says: Scope "w_member_social" is not authorized for your ' +
      'application (unauthorized_scope_error)',
  ]);
  networks.script.unapproved = [];
  // Meta's dialog has an error response without `error`.
  const ofMeta = { error_code: '1349126', error_message: 'App not active' };
  expect(messageOf(await answerWith(ofMeta))).toMatch(
    /^LinkedIn did not grant access\..*: App not active \(1349126\)$/,
  );
  const token = 'AQX'.repeat(30);
  const long = await answerWith({ error: 'server_error', error_description: `a\nb ${token} ${'word '.repeat(200)}` });
  expect(messageOf(long)).toMatch(/^LinkedIn does not respond .* LinkedIn says: a b … word [^\n]*…$/);
  expect(messageOf(long).length).toBeLessThan(400);
  const page = await answerWith({ error: 'x', error_description: '<img src=x>' }, { accept: 'text/html' });
  expect(page.body).toContain('<blockquote><p>&lt;img src=x&gt; (x)</p></blockquote>');
});

test('with an invalid state, nothing of an error response is shown: it may be forged', async () => {
  const query = 'state=invented&error=x&error_description=Call+us';
  const answer = await program.client.request('GET', `/oauth/google/callback?${query}`, {
    headers: { 'x-api-key': '' },
  });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body)).not.toContain('Call us');
});

test('a network that does not respond is 502, and the message contains no address', async () => {
  const back = await networks.visit((await begin('tiktok')).authorizeUrl);
  networks.script.unavailable = true;
  const answer = await comeBack(back);
  expect(answer).toMatchObject({ status: 502 });
  expect(JSON.stringify(answer.body)).not.toContain('127.0.0.1');
});

test('the audit log says who connected and disconnected, and the database contains no token in plain text', async () => {
  for (const platform of PLATFORMS) await connect(platform);
  await program.client.request('DELETE', `${SOCIALS}/tiktok`);
  const { rows } = await program.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  let dump = '';
  for (const { name } of rows)
    dump += (await program.pool.query<{ t: string }>(`SELECT t::text FROM ${name} AS t`)).rows.map(({ t }) => t).join();
  expect(dump).toContain('social.connect');
  expect(dump).toContain('social.disconnect');
  expect([...networks.secrets].filter((secret) => dump.includes(secret))).toEqual([]);
});

async function depsAt(at: Date): Promise<SocialDeps> {
  const config = loadConfig(program.environment);
  return { config, secretKey: await loadSecretKey(config), clock: { now: () => at } };
}
const refreshAllAt = async (at: Date): Promise<number> => {
  const deps = { ...(await depsAt(at)), pool: program.pool, log: silentLog };
  let count = 0;
  while (await refreshNext(deps)) count++;
  return count;
};
const accessOf = async (platform: Platform) => {
  const of = { accountId: program.account.accountId, platform };
  const profile = await findProfile(program.pool, of);
  return openTokens((await depsAt(new Date())).secretKey, of, profile?.tokens ?? Buffer.alloc(0)).access;
};
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

describe('before a token expires', () => {
  test.each(['instagram', 'linkedin', 'google', 'tiktok'] as const)('that of %s is renewed, once', async (platform) => {
    await connect(platform);
    const before = await accessOf(platform);
    expect(await refreshAllAt(new Date())).toBe(0);
    const soon = new Date(inDays(60).getTime() - 60_000);
    expect(await refreshAllAt(soon)).toBe(1);
    expect(await accessOf(platform)).not.toBe(before);
    const { body } = await show(platform);
    expect(body).toMatchObject({ disconnected: false });
    expect(Date.parse((body as { tokenExpiresAt: string }).tokenExpiresAt)).toBeGreaterThan(inDays(100).getTime());
  });

  test('two workers at once renew it once: TikTok invalidates the old refresh token', async () => {
    await connect('tiktok');
    const counts = await Promise.all([1, 2, 3].map(() => refreshAllAt(inDays(59.999))));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    expect(await refreshAllAt(inDays(119.999))).toBe(1);
    expect((await show('tiktok')).body).toMatchObject({ disconnected: false });
  });
});

describe('a profile is disconnected', () => {
  const lastAudited = () =>
    one(program.pool, sql`SELECT action, actor_kind AS kind FROM audit_entry ORDER BY id DESC LIMIT 1`);
  const wordsOf = async () =>
    many<{ platform: string }>(program.pool, sql`SELECT platform FROM social_profile WHERE disconnected IS NOT NULL`);

  test.each(['facebook', 'linkedin', 'google'] as const)(
    'when the token of %s ends and cannot be renewed',
    async (platform) => {
      networks.script.refreshTokens = false;
      await connect(platform);
      await refreshAllAt(inDays(59));
      expect(await wordsOf()).toEqual([]);
      await refreshAllAt(inDays(61));
      expect(await wordsOf()).toEqual([{ platform }]);
      expect((await show(platform)).body).toMatchObject({ disconnected: true });
    },
  );

  test.each(['instagram', 'linkedin', 'google', 'tiktok'] as const)(
    'when a person took back what %s was granted, at once',
    async (platform) => {
      await connect(platform);
      networks.revoke(platform);
      expect(await refreshAllAt(inDays(59.999))).toBe(1);
      expect(await wordsOf()).toEqual([{ platform }]);
      expect(await lastAudited()).toMatchObject({ action: 'social.disconnected', kind: 'system' });
      expect(await refreshAllAt(inDays(200))).toBe(0);
      expect((await connect(platform)).status).toBe(200);
      expect((await show(platform)).body).toMatchObject({ disconnected: false });
    },
  );

  test('when the network does not respond for days, and not at once', async () => {
    await connect('google');
    networks.script.unavailable = true;
    let at = inDays(59.999).getTime();
    for (const end = at + DAY_MS; at < end; at += 1_800_000) await refreshAllAt(new Date(at));
    expect(await wordsOf()).toEqual([]);
    networks.script.unavailable = false;
    await refreshAllAt(new Date(at + DAY_MS));
    expect((await show('google')).body).toMatchObject({ disconnected: false });
    networks.script.unavailable = true;
    at += 61 * DAY_MS;
    for (const end = at + 4 * DAY_MS; at < end; at += 1_800_000) await refreshAllAt(new Date(at));
    expect(await wordsOf()).toEqual([{ platform: 'google' }]);
  });
});

test('the same Idempotency-Key starts one connection', async () => {
  const headers = { 'idempotency-key': 'begin-1' };
  const [first, second] = [await begin('google', headers), await begin('google', headers)];
  expect(second.authorizeUrl).toBe(first.authorizeUrl);
  expect((await one<{ n: number }>(program.pool, sql`SELECT count(*) AS n FROM social_state`)).n).toBe(1);
});

test('states that were not used are deleted', async () => {
  await begin('google');
  await refreshAllAt(new Date(Date.now() + 11 * 60_000));
  expect((await one<{ n: number }>(program.pool, sql`SELECT count(*) AS n FROM social_state`)).n).toBe(0);
});

test('an address that returns with a hundred invalid states is refused for a while', async () => {
  const statuses = new Set<number>();
  for (let n = 0; n <= 121; n++) {
    const state = Buffer.alloc(32, n).toString('base64url');
    const path = `/oauth/google/callback?state=${state}&code=x`;
    statuses.add((await program.client.request('GET', path, { headers: { 'x-api-key': '' } })).status);
  }
  expect([...statuses]).toEqual([400, 429]);
});

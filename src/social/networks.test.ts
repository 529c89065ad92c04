import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type OauthServer, startOauthServer } from '../../test/support/oauth/server.ts';
import type { Platform } from '../core/channels.ts';
import { loadConfig } from '../core/config.ts';
import { systemClock } from '../core/time.ts';
import { authorizeUrl, callerOf, exchangeCode, type Profile, redirectUriOf } from './network.ts';
import { NETWORKS } from './networks.ts';

let simulated: OauthServer;
let usual: OauthServer['script'];
beforeAll(async () => {
  simulated = await startOauthServer();
  usual = { ...simulated.script };
});
afterAll(() => simulated[Symbol.asyncDispose]());
beforeEach(() => void Object.assign(simulated.script, usual));

/**
 * Gets the consent of a person, with these settings; resolves with the requests to the network and with the profile.
 */
async function fetchWith(
  platform: Platform,
  environment: Record<string, string>,
): Promise<{ readonly asked: URLSearchParams; readonly profile: Profile }> {
  const config = loadConfig({ ...simulated.environment, ...environment });
  const [network, caller] = [NETWORKS[platform], callerOf({ config, clock: systemClock }, platform)];
  const redirectUri = redirectUriOf({ config }, platform);
  const url = authorizeUrl(network, caller, { state: 'state', redirectUri, challenge: null });
  const parameters = (await simulated.visit(url))?.searchParams ?? new URLSearchParams();
  const short = await exchangeCode(network, caller, { parameters, state: 'state', redirectUri, verifier: null });
  const grant = (await network.exchangeForLongLived?.(caller, short)) ?? short;
  return { asked: new URL(url).searchParams, profile: await network.fetchProfile(caller, grant) };
}

test('TikTok is asked for the username only with the scope that covers it, which a person may deselect', async () => {
  const settings = { TIKTOK_SCOPES: 'user.info.basic,user.info.profile' };
  expect((await fetchWith('tiktok', {})).profile).toMatchObject({ username: null, name: 'Acme' });
  expect((await fetchWith('tiktok', settings)).profile).toMatchObject({ username: 'acme', name: 'Acme' });
  simulated.script.without = ['user.info.profile'];
  expect((await fetchWith('tiktok', settings)).profile).toMatchObject({ username: null, name: 'Acme' });
});

const COMMUNITY = 'r_basicprofile w_member_social rw_organization_admin w_organization_social';

test('a LinkedIn app with the Community Management API needs no openid, and lists organisations with a role', async () => {
  const { asked, profile } = await fetchWith('linkedin', { LINKEDIN_SCOPES: COMMUNITY });
  expect(asked.get('scope')).toBe(COMMUNITY);
  expect(profile).toMatchObject({
    username: 'ada-acme',
    name: 'Ada Acme',
    linkedFault: null,
    linked: [
      { id: 'urn:li:organization:1', name: 'Organisation 1', type: 'ORGANISATION' },
      { id: 'urn:li:organization:2', name: 'Organisation 2', type: 'ORGANISATION' },
    ],
  });
});

test('any LinkedIn app can be used: without a setting, no scope is asked for that needs an approval', async () => {
  const { asked, profile } = await fetchWith('linkedin', {});
  expect(asked.get('scope')).toBe('openid profile email w_member_social');
  expect(profile).toMatchObject({ username: 'ada@acme.test', linked: [], linkedFault: null });
});

test('LinkedIn lists 250 organisations in several pages', async () => {
  simulated.script.pages = 250;
  const { profile } = await fetchWith('linkedin', { LINKEDIN_SCOPES: COMMUNITY });
  // The person has another role in one of them.
  expect(new Set(profile.linked.map(({ name }) => name)).size).toBe(249);
});

test('organisations that LinkedIn refuses to list are not read as none', async () => {
  const settings = { LINKEDIN_SCOPES: COMMUNITY, LINKEDIN_API_VERSION: '202504' };
  const { profile } = await fetchWith('linkedin', settings);
  expect(profile).toMatchObject({
    linked: [],
    linkedFault: 'Requested version 202504 is not active (NONEXISTENT_VERSION)',
  });
});

test('Facebook Login for Business is used with its configuration instead of scopes', async () => {
  simulated.script.businessLogin = true;
  const { asked, profile } = await fetchWith('facebook', { FACEBOOK_CONFIG_ID: '1234567890' });
  expect([asked.get('config_id'), asked.get('scope')]).toEqual(['1234567890', null]);
  expect(profile.linked).toHaveLength(3);
});

test('pages of a business portfolio are found, with their tokens, if the person granted access to businesses', async () => {
  simulated.script.portfolio = true;
  const { profile } = await fetchWith('facebook', {});
  expect(profile.linked.map(({ id }) => id)).toEqual(['page-0', 'page-1', 'page-2']);
  expect(Object.keys(profile.linkedTokens)).toEqual(['page-0', 'page-1', 'page-2']);
  const without = await fetchWith('facebook', { FACEBOOK_SCOPES: 'pages_show_list' });
  expect(without.profile).toMatchObject({ linked: [], linkedFault: null });
});

test('the versions of the Graph are settings', async () => {
  for (const [platform, setting] of [
    ['facebook', 'FACEBOOK_API_VERSION'] as const,
    ['instagram', 'INSTAGRAM_API_VERSION'] as const,
  ]) {
    expect((await fetchWith(platform, { [setting]: 'v26.0' })).profile.name).toMatch(/Acme/);
    // Meta has retired this one.
    await expect(fetchWith(platform, { [setting]: 'v20.0' })).rejects.toThrow();
  }
});

import { createHmac } from 'node:crypto';
import { getList, getMember, getText } from '../channels/settings.ts';
import type { Platform } from '../core/channels.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import {
  type Caller,
  expiryFrom,
  type Grant,
  type Linked,
  listOrFault,
  type Network,
  NetworkFailure,
  type Profile,
  requestJson,
} from './network.ts';

const MAX_PAGES = 2000;
const MAX_BUSINESSES = 100;
const PAGE_FIELDS = 'id,name,access_token';

const graphOf = ({ apiVersion }: Pick<Caller, 'apiVersion'>): string => `https://graph.facebook.com/${apiVersion}`;
const tokenUrl = (app: Pick<Caller, 'apiVersion'>): string => `${graphOf(app)}/oauth/access_token`;

/** A token with the proof that the call comes from the app to which the token was issued. */
const tokenWithProof = ({ clientSecret }: Caller, access: string) => ({
  access_token: access,
  appsecret_proof: createHmac('sha256', clientSecret).update(access).digest('hex'),
});

const requestGraph = (caller: Caller, path: string, access: string, query: Readonly<Record<string, string>> = {}) =>
  requestJson(caller.web, `${graphOf(caller)}${path}`, { query: { ...query, ...tokenWithProof(caller, access) } });

/**
 * Exchanges the token of an hour for one of about sixty days. There is no refresh token: after that time, the person
 * must consent again.
 */
async function exchangeForLongLived(caller: Caller, grant: Grant): Promise<Grant> {
  const { clientId, clientSecret } = caller;
  const json = await requestJson(caller.web, tokenUrl(caller), {
    form: {
      grant_type: 'fb_exchange_token',
      client_id: clientId,
      client_secret: clientSecret,
      fb_exchange_token: grant.access,
    },
  });
  const access = getText(json, 'access_token');
  if (access === '') throw new NetworkFailure('The network issued no long-lived token', { grantEnded: false });
  return { ...grant, access, expiresAt: expiryFrom(caller, getMember(json, 'expires_in')) };
}

async function fetchProfile(caller: Caller, { access }: Pick<Grant, 'access'>): Promise<Profile> {
  const me = await requestGraph(caller, '/me', access, { fields: 'id,name,picture.type(large)' });
  const granted = await requestGraph(caller, '/me/permissions', access);
  const scopes = getList(granted, 'data')
    .filter((entry) => getText(entry, 'status') === 'granted')
    .map((entry) => getText(entry, 'permission'));
  const linkedTokens: Record<string, string> = {};
  const listed = await listOrFault(async () => {
    const pages = await listPages(caller, access, scopes);
    for (const page of pages) linkedTokens[getText(page, 'id')] = getText(page, 'access_token');
    return pages.map((page): Linked => ({ id: getText(page, 'id'), name: getText(page, 'name'), type: 'PAGE' }));
  });
  return {
    externalId: getText(me, 'id'),
    username: null,
    name: getText(me, 'name'),
    pictureUrl: getText(getMember(getMember(me, 'picture'), 'data'), 'url') || null,
    scopes,
    ...listed,
    linkedTokens,
  };
}

/**
 * Lists the pages of a person. `/me/accounts` contains only those on which the person has their own role, and is empty
 * for a person who manages pages through a business portfolio (trypostit/trypost#292 and #301, zammad/zammad#6069).
 */
async function listPages(caller: Caller, access: string, scopes: readonly string[]): Promise<readonly unknown[]> {
  if (!scopes.includes('pages_show_list')) return [];
  const own = await listAll(caller, '/me/accounts', access, { fields: PAGE_FIELDS, max: MAX_PAGES });
  return own.length > 0 || !scopes.includes('business_management') ? own : listPagesOfBusinesses(caller, access);
}

/** Lists the pages that the businesses of a person own or manage for others, as far as a token for them is issued. */
async function listPagesOfBusinesses(caller: Caller, access: string): Promise<readonly unknown[]> {
  const pages = new Map<string, unknown>();
  for (const business of await listAll(caller, '/me/businesses', access, { fields: 'id', max: MAX_BUSINESSES }))
    for (const edge of ['owned_pages', 'client_pages']) {
      const path = `/${encodeURIComponent(getText(business, 'id'))}/${edge}`;
      const found = await listAll(caller, path, access, { fields: PAGE_FIELDS, max: MAX_PAGES - pages.size });
      for (const page of found) if (getText(page, 'access_token') !== '') pages.set(getText(page, 'id'), page);
    }
  return [...pages.values()];
}

/** Reads a list of the Graph. The address of its next page contains the token, so only its cursor is used. */
async function listAll(
  caller: Caller,
  path: string,
  access: string,
  { fields, max }: { readonly fields: string; readonly max: number },
): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let after = ''; all.length < max; ) {
    const from = after === '' ? {} : { after };
    const json = await requestGraph(caller, path, access, { fields, limit: '100', ...from });
    all.push(...getList(json, 'data'));
    const paging = getMember(json, 'paging');
    after = getText(getMember(paging, 'cursors'), 'after');
    if (after === '' || getMember(paging, 'next') === undefined) break;
  }
  return all;
}

/**
 * Facebook. New apps have Facebook Login for Business, whose configuration replaces the scopes: without it, people read
 * that the app is not available (laravel/socialite#716). With scopes, `rerequest` asks again for those that a person
 * has declined before.
 */
const facebook: Network = {
  platform: 'facebook',
  label: 'Facebook',
  issuer: 'https://www.facebook.com',
  authorizeUrl: ({ apiVersion }) => `https://www.facebook.com/${apiVersion}/dialog/oauth`,
  tokenUrl,
  clientIdName: 'client_id',
  scopeSeparator: ',',
  pkce: false,
  extraParameters: ({ configId }) =>
    configId === null ? { auth_type: 'rerequest' } : { config_id: configId, scope: null },
  needsPages: true,
  exchangeForLongLived: exchangeForLongLived,
  fetchProfile: fetchProfile,
  leadMs: 7 * DAY_MS,
  async revoke(caller, { access, externalId }) {
    const path = `${graphOf(caller)}/${encodeURIComponent(externalId)}/permissions`;
    await requestJson(caller.web, path, { method: 'DELETE', query: tokenWithProof(caller, access) });
  },
};

const OAUTH = 'https://oauth2.googleapis.com';
const ACCOUNTS = 'https://mybusinessaccountmanagement.googleapis.com/v1/accounts';
const INFORMATION = 'https://mybusinessbusinessinformation.googleapis.com/v1';
const GOOGLE_MAX_PAGES = 50;

async function fetchGoogleProfile(caller: Caller, { access }: Pick<Grant, 'access'>): Promise<Profile> {
  const me = await requestJson(caller.web, 'https://www.googleapis.com/oauth2/v3/userinfo', { bearer: access });
  return {
    externalId: getText(me, 'sub'),
    username: getText(me, 'email') || null,
    name: getText(me, 'name'),
    pictureUrl: getText(me, 'picture') || null,
    scopes: null,
    // The quota of a project that Google has not approved is zero, and the response is 403 or 429.
    ...(await listOrFault(() => listLocations(caller, access))),
    linkedTokens: {},
  };
}

async function listLocations(caller: Caller, access: string): Promise<Linked[]> {
  const accounts = await listAllLocations(caller, access, ACCOUNTS, 'accounts', { pageSize: '20' });
  const linked: Linked[] = [];
  for (const account of accounts) {
    const name = getText(account, 'name');
    const query = { readMask: 'name,title', pageSize: '100' };
    const locations = await listAllLocations(caller, access, `${INFORMATION}/${name}/locations`, 'locations', query);
    // v4 of the API requires both names, v1 the second.
    const idOf = (location: unknown): string => `${name}/${getText(location, 'name')}`;
    linked.push(...locations.map((each) => ({ id: idOf(each), name: getText(each, 'title'), type: 'LOCATION' })));
  }
  return linked;
}

async function listAllLocations(
  { web }: Caller,
  bearer: string,
  address: string,
  field: string,
  query: Readonly<Record<string, string>>,
): Promise<unknown[]> {
  const all: unknown[] = [];
  let pageToken = '';
  for (let page = 0; page < GOOGLE_MAX_PAGES; page++) {
    const from = pageToken === '' ? {} : { pageToken };
    const json = await requestJson(web, address, { query: { ...query, ...from }, bearer });
    all.push(...getList(json, field));
    pageToken = getText(json, 'nextPageToken');
    if (pageToken === '') break;
  }
  return all;
}

/**
 * Google. Without `prompt=consent`, a refresh token comes only with the first
 * consent.
 */
const google: Network = {
  platform: 'google',
  label: 'Google',
  issuer: 'https://accounts.google.com',
  authorizeUrl: () => 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: () => `${OAUTH}/token`,
  clientIdName: 'client_id',
  scopeSeparator: ' ',
  pkce: true,
  extraParameters: () => ({ access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' }),
  needsPages: false,
  fetchProfile: fetchGoogleProfile,
  leadMs: 5 * MINUTE_MS,
  async revoke({ web }, { access, refresh }) {
    await requestJson(web, `${OAUTH}/revoke`, { form: { token: refresh ?? access } });
  },
};

const GRAPH = 'https://graph.instagram.com';

async function longLived(caller: Caller, path: string, query: Readonly<Record<string, string>>): Promise<Grant> {
  const json = await requestJson(caller.web, `${GRAPH}${path}`, { query });
  const access = getText(json, 'access_token');
  if (access === '') throw new NetworkFailure('The network issued no long-lived token', { grantEnded: false });
  return { access, refresh: null, expiresAt: expiryFrom(caller, getMember(json, 'expires_in')), scopes: [] };
}

/** Exchanges the token of an hour for one of sixty days. */
const exchangeForLongLivedToken = async (caller: Caller, { access, scopes }: Grant): Promise<Grant> => {
  const query = { grant_type: 'ig_exchange_token', client_secret: caller.clientSecret, access_token: access };
  return { ...(await longLived(caller, '/access_token', query)), scopes };
};

/** Renews a token for another sixty days, if it is at least a day old and has not expired. */
const renew = (caller: Caller, access: string): Promise<Grant> =>
  longLived(caller, '/refresh_access_token', { grant_type: 'ig_refresh_token', access_token: access });

async function fetchInstagramProfile({ web, apiVersion }: Caller, { access }: Pick<Grant, 'access'>): Promise<Profile> {
  const fields = 'user_id,username,name,profile_picture_url';
  const me = await requestJson(web, `${GRAPH}/${apiVersion}/me`, { query: { fields, access_token: access } });
  const username = getText(me, 'username');
  return {
    externalId: getText(me, 'user_id'),
    username,
    name: getText(me, 'name') || username,
    pictureUrl: getText(me, 'profile_picture_url') || null,
    scopes: null,
    linked: [],
    linkedFault: null,
    linkedTokens: {},
  };
}

/**
 * Instagram: professional accounts, with the sign-in of Instagram, which takes scopes and no configuration
 * (developers.facebook.com, "Business Login for Instagram"). It has no way to revoke a grant.
 */
const instagram: Network = {
  platform: 'instagram',
  label: 'Instagram',
  issuer: 'https://www.instagram.com',
  authorizeUrl: () => 'https://www.instagram.com/oauth/authorize',
  tokenUrl: () => 'https://api.instagram.com/oauth/access_token',
  clientIdName: 'client_id',
  scopeSeparator: ',',
  pkce: false,
  extraParameters: () => ({ enable_fb_login: '0' }),
  needsPages: false,
  exchangeForLongLived: exchangeForLongLivedToken,
  fetchProfile: fetchInstagramProfile,
  renew,
  leadMs: 15 * DAY_MS,
};

const LINKEDIN_OAUTH = 'https://www.linkedin.com/oauth/v2';
const API = 'https://api.linkedin.com';
const PAGE_SIZE = 100;
const MAX_ORGANISATIONS = 2000;
/** The roles that may post (Microsoft Learn, "Organization Access Control by Role"). */
const ROLES = new Set(['ADMINISTRATOR', 'CONTENT_ADMINISTRATOR']);
/** The scopes of which listing organisations needs one (same page). */
const LISTING_SCOPES = ['rw_organization_admin', 'r_organization_admin'];

type Person = Pick<Profile, 'externalId' | 'username' | 'name' | 'pictureUrl'>;

async function fetchLinkedinProfile(
  caller: Caller,
  { access, scopes }: Pick<Grant, 'access' | 'scopes'>,
): Promise<Profile> {
  const fetchPerson = scopes.includes('openid') ? fetchUserInfo : fetchMember;
  return {
    ...(await fetchPerson(caller, access)),
    scopes: null,
    ...(LISTING_SCOPES.some((scope) => scopes.includes(scope))
      ? await listOrFault(() => listOrganisations(caller, access))
      : { linked: [], linkedFault: null }),
    linkedTokens: {},
  };
}

async function fetchUserInfo({ web }: Caller, access: string): Promise<Person> {
  const me = await requestJson(web, `${API}/v2/userinfo`, { bearer: access });
  return {
    externalId: getText(me, 'sub'),
    username: getText(me, 'email') || null,
    name: getText(me, 'name'),
    pictureUrl: getText(me, 'picture') || null,
  };
}

/** An app with the Community Management API has no `openid`; `r_basicprofile` reads this instead. */
async function fetchMember({ web }: Caller, access: string): Promise<Person> {
  const me = await requestJson(web, `${API}/v2/me`, { bearer: access });
  const name = [getText(me, 'localizedFirstName'), getText(me, 'localizedLastName')].filter((part) => part !== '');
  return {
    externalId: getText(me, 'id'),
    username: getText(me, 'vanityName') || null,
    name: name.join(' '),
    pictureUrl: null,
  };
}

/** Lists the organisations for which a person may post. */
async function listOrganisations(caller: Caller, access: string): Promise<Linked[]> {
  const linked: Linked[] = [];
  for (let start = 0; start < MAX_ORGANISATIONS; start += PAGE_SIZE) {
    const query = `q=roleAssignee&state=APPROVED&start=${start}&count=${PAGE_SIZE}`;
    const json = await requestVersioned(caller, access, `organizationAcls?${query}`);
    const elements = getList(json, 'elements');
    const urns = elements
      .filter((each) => ROLES.has(getText(each, 'role')))
      .map((each) => getText(each, 'organization'));
    linked.push(...(await withNames(caller, access, [...new Set(urns)])));
    if (elements.length < PAGE_SIZE) break;
  }
  return linked;
}

/**
 * Looks up the names of organisations. LinkedIn returns an entry for each of them; one without a name is shown by its
 * URN.
 */
async function withNames(caller: Caller, access: string, urns: readonly string[]): Promise<Linked[]> {
  if (urns.length === 0) return [];
  const ids = urns.map((urn) => urn.slice(urn.lastIndexOf(':') + 1));
  // Rest.li reads encoded parentheses and commas as text, so this is not a query of `requestJson`.
  const json = await requestVersioned(
    caller,
    access,
    `organizations?ids=List(${ids.map(encodeURIComponent).join(',')})`,
  );
  const results = getMember(json, 'results');
  return urns.map((id, at) => ({
    id,
    name: getText(getMember(results, ids[at] ?? ''), 'localizedName') || id,
    type: 'ORGANISATION',
  }));
}

/**
 * Sends a request to the versioned API. LinkedIn retires its unversioned one, and each version after about a year, with
 * 426 from then on (Microsoft Learn, "LinkedIn Marketing API Versioning"; n8n-io/n8n#28600).
 */
const requestVersioned = ({ web, apiVersion }: Caller, access: string, path: string): Promise<unknown> =>
  requestJson(web, `${API}/rest/${path}`, {
    bearer: access,
    headers: { 'LinkedIn-Version': apiVersion, 'X-Restli-Protocol-Version': '2.0.0' },
  });

/**
 * LinkedIn. It rejects a sign-in with a scope that the app lacks (gitroomhq/postiz-app#1243), so organisations are only
 * requested if the settings include them. Only approved apps get refresh tokens; with the others, the person must
 * consent again after sixty days.
 */
const linkedin: Network = {
  platform: 'linkedin',
  label: 'LinkedIn',
  issuer: 'https://www.linkedin.com',
  authorizeUrl: () => `${LINKEDIN_OAUTH}/authorization`,
  tokenUrl: () => `${LINKEDIN_OAUTH}/accessToken`,
  clientIdName: 'client_id',
  scopeSeparator: ' ',
  pkce: false,
  extraParameters: () => ({}),
  needsPages: false,
  fetchProfile: fetchLinkedinProfile,
  leadMs: 7 * DAY_MS,
  async revoke({ web, clientId, clientSecret }, { access, refresh }) {
    const form = { client_id: clientId, client_secret: clientSecret, token: refresh ?? access };
    await requestJson(web, `${LINKEDIN_OAUTH}/revoke`, { form });
  },
};

const TIKTOK_API = 'https://open.tiktokapis.com/v2';

/**
 * Requests the profile. The username belongs to the scope `user.info.profile`: without it, a request for that field is
 * rejected as a whole (SocialiteProviders/Providers#1198; TikTok, "User Info APIs Scope Migration").
 */
async function fetchTiktokProfile(
  { web }: Caller,
  { access, scopes }: Pick<Grant, 'access' | 'scopes'>,
): Promise<Profile> {
  const fields = [
    'open_id',
    'avatar_url',
    'display_name',
    ...(scopes.includes('user.info.profile') ? ['username'] : []),
  ];
  const json = await requestJson(web, `${TIKTOK_API}/user/info/`, {
    query: { fields: fields.join(',') },
    bearer: access,
  });
  const user = getMember(getMember(json, 'data'), 'user');
  return {
    externalId: getText(user, 'open_id'),
    username: getText(user, 'username') || null,
    name: getText(user, 'display_name'),
    pictureUrl: getText(user, 'avatar_url') || null,
    scopes: null,
    linked: [],
    linkedFault: null,
    linkedTokens: {},
  };
}

/** TikTok. Each refresh invalidates the refresh token that it used. */
const tiktok: Network = {
  platform: 'tiktok',
  label: 'TikTok',
  issuer: 'https://www.tiktok.com',
  authorizeUrl: () => 'https://www.tiktok.com/v2/auth/authorize/',
  tokenUrl: () => `${TIKTOK_API}/oauth/token/`,
  clientIdName: 'client_key',
  scopeSeparator: ',',
  // Its PKCE for web applications is not documented, and for other applications it is not that of the standard.
  pkce: false,
  extraParameters: () => ({}),
  needsPages: false,
  fetchProfile: fetchTiktokProfile,
  leadMs: 10 * MINUTE_MS,
  async revoke({ web, clientId, clientSecret }, { access }) {
    const form = { client_key: clientId, client_secret: clientSecret, token: access };
    await requestJson(web, `${TIKTOK_API}/oauth/revoke/`, { form });
  },
};

/** The networks whose profiles can be connected. */
export const NETWORKS: Readonly<Record<Platform, Network>> = { facebook, instagram, linkedin, google, tiktok };

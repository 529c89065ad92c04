import { getList, getText } from '../../../carriers/json.ts';
import { listOrFault } from './linked.ts';
import type { Caller, Grant, Linked, Network, Profile } from './network.ts';
import { requestJson } from './web.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

const OAUTH = 'https://oauth2.googleapis.com';
const ACCOUNTS = 'https://mybusinessaccountmanagement.googleapis.com/v1/accounts';
const INFORMATION = 'https://mybusinessbusinessinformation.googleapis.com/v1';
const MAX_PAGES = 50;

async function fetchProfile(caller: Caller, { access }: Pick<Grant, 'access'>): Promise<Profile> {
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
  const accounts = await listAll(caller, access, ACCOUNTS, 'accounts', { pageSize: '20' });
  const linked: Linked[] = [];
  for (const account of accounts) {
    const name = getText(account, 'name');
    const query = { readMask: 'name,title', pageSize: '100' };
    const locations = await listAll(caller, access, `${INFORMATION}/${name}/locations`, 'locations', query);
    // v4 of the API requires both names, v1 the second.
    const idOf = (location: unknown): string => `${name}/${getText(location, 'name')}`;
    linked.push(...locations.map((each) => ({ id: idOf(each), name: getText(each, 'title'), type: 'LOCATION' })));
  }
  return linked;
}

async function listAll(
  { web }: Caller,
  bearer: string,
  address: string,
  field: string,
  query: Readonly<Record<string, string>>,
): Promise<unknown[]> {
  const all: unknown[] = [];
  let pageToken = '';
  for (let page = 0; page < MAX_PAGES; page++) {
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
export const google: Network = {
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
  fetchProfile: fetchProfile,
  leadMs: 5 * MINUTE_MS,
  async revoke({ web }, { access, refresh }) {
    await requestJson(web, `${OAUTH}/revoke`, { form: { token: refresh ?? access } });
  },
};

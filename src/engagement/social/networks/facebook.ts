import { createHmac } from 'node:crypto';
import { getList, getMember, getText } from '../../../carriers/json.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { listOrFault } from './linked.ts';
import { type Caller, expiryFrom, type Grant, type Linked, type Network, type Profile } from './network.ts';
import { requestJson, NetworkFailure } from './web.ts';

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
export const facebook: Network = {
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

import { createHmac } from 'node:crypto';
import { getList, getMember, getText } from '../../../carriers/json.ts';
import { type Caller, expiryFrom, type Grant, type Network, type Profile } from './network.ts';
import { requestJson, NetworkFailure } from './web.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

const GRAPH = 'https://graph.facebook.com/v23.0';
const MAX_PAGES = 2000;
const PAGE_FIELDS = 'id,name,access_token';

/** A token with the proof that the call comes from the application to which the token was issued. */
const tokenWithProof = ({ clientSecret }: Caller, access: string) => ({
  access_token: access,
  appsecret_proof: createHmac('sha256', clientSecret).update(access).digest('hex'),
});

const requestGraph = (caller: Caller, path: string, access: string, query: Readonly<Record<string, string>> = {}) =>
  requestJson(caller.web, `${GRAPH}${path}`, { query: { ...query, ...tokenWithProof(caller, access) } });

/**
 * Exchanges the token of an hour for one of about sixty days. There is no refresh token: after that time, the person
 * must consent again.
 */
async function exchangeForLongLived(caller: Caller, grant: Grant): Promise<Grant> {
  const { clientId, clientSecret } = caller;
  const json = await requestJson(caller.web, `${GRAPH}/oauth/access_token`, {
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

async function fetchProfile(caller: Caller, access: string): Promise<Profile> {
  const me = await requestGraph(caller, '/me', access, { fields: 'id,name,picture' });
  const granted = await requestGraph(caller, '/me/permissions', access);
  const scopes = getList(granted, 'data')
    .filter((entry) => getText(entry, 'status') === 'granted')
    .map((entry) => getText(entry, 'permission'));
  const pages = await listPages(caller, access);
  return {
    externalId: getText(me, 'id'),
    username: null,
    name: getText(me, 'name'),
    pictureUrl: getText(getMember(getMember(me, 'picture'), 'data'), 'url') || null,
    scopes,
    linked: pages.map((page) => ({ id: getText(page, 'id'), name: getText(page, 'name'), type: 'PAGE' })),
    linkedTokens: Object.fromEntries(pages.map((page) => [getText(page, 'id'), getText(page, 'access_token')])),
  };
}

/** Lists the pages of a person. The address of the next page contains the token, so only its cursor is used. */
async function listPages(caller: Caller, access: string): Promise<unknown[]> {
  const pages: unknown[] = [];
  for (let after = ''; pages.length < MAX_PAGES; ) {
    const from = after === '' ? {} : { after };
    const json = await requestGraph(caller, '/me/accounts', access, { fields: PAGE_FIELDS, limit: '100', ...from });
    pages.push(...getList(json, 'data'));
    const paging = getMember(json, 'paging');
    after = getText(getMember(paging, 'cursors'), 'after');
    if (after === '' || getMember(paging, 'next') === undefined) break;
  }
  return pages;
}

/** Facebook (protocol sheet "social", section 1). */
export const facebook: Network = {
  platform: 'facebook',
  label: 'Facebook',
  issuer: 'https://www.facebook.com',
  authorizeUrl: 'https://www.facebook.com/v23.0/dialog/oauth',
  tokenUrl: `${GRAPH}/oauth/access_token`,
  clientIdName: 'client_id',
  scopes: ['pages_show_list', 'pages_manage_posts', 'pages_read_engagement', 'business_management'],
  scopeSeparator: ',',
  requiredScopes: ['pages_show_list'],
  pkce: false,
  extraParameters: {},
  exchangeForLongLived: exchangeForLongLived,
  fetchProfile: fetchProfile,
  leadMs: 7 * DAY_MS,
  async revoke(caller, { access, externalId }) {
    const path = `${GRAPH}/${encodeURIComponent(externalId)}/permissions`;
    await requestJson(caller.web, path, { method: 'DELETE', query: tokenWithProof(caller, access) });
  },
};

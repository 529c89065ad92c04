import { getMember, getText } from '../../../carriers/json.ts';
import { type Caller, expiryFrom, type Grant, type Network, type Profile } from './network.ts';
import { requestJson, NetworkFailure } from './web.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

const GRAPH = 'https://graph.instagram.com';

async function longLived(caller: Caller, path: string, query: Readonly<Record<string, string>>): Promise<Grant> {
  const json = await requestJson(caller.web, `${GRAPH}${path}`, { query });
  const access = getText(json, 'access_token');
  if (access === '') throw new NetworkFailure('The network issued no long-lived token', { grantEnded: false });
  return { access, refresh: null, expiresAt: expiryFrom(caller, getMember(json, 'expires_in')), scopes: [] };
}

/** Exchanges the token of an hour for one of sixty days. */
const exchangeForLongLived = async (caller: Caller, { access, scopes }: Grant): Promise<Grant> => {
  const query = { grant_type: 'ig_exchange_token', client_secret: caller.clientSecret, access_token: access };
  return { ...(await longLived(caller, '/access_token', query)), scopes };
};

/** Renews a token for another sixty days, if it is at least a day old and has not expired. */
const renew = (caller: Caller, access: string): Promise<Grant> =>
  longLived(caller, '/refresh_access_token', { grant_type: 'ig_refresh_token', access_token: access });

async function fetchProfile({ web, apiVersion }: Caller, { access }: Pick<Grant, 'access'>): Promise<Profile> {
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
export const instagram: Network = {
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
  exchangeForLongLived: exchangeForLongLived,
  fetchProfile: fetchProfile,
  renew,
  leadMs: 15 * DAY_MS,
};

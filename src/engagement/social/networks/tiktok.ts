import { getMember, getText } from '../../../carriers/json.ts';
import type { Caller, Grant, Network, Profile } from './network.ts';
import { requestJson } from './web.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

const API = 'https://open.tiktokapis.com/v2';

/**
 * Requests the profile. The username belongs to the scope `user.info.profile`: without it, a request for that field is
 * rejected as a whole (SocialiteProviders/Providers#1198; TikTok, "User Info APIs Scope Migration").
 */
async function fetchProfile({ web }: Caller, { access, scopes }: Pick<Grant, 'access' | 'scopes'>): Promise<Profile> {
  const fields = [
    'open_id',
    'avatar_url',
    'display_name',
    ...(scopes.includes('user.info.profile') ? ['username'] : []),
  ];
  const json = await requestJson(web, `${API}/user/info/`, { query: { fields: fields.join(',') }, bearer: access });
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
export const tiktok: Network = {
  platform: 'tiktok',
  label: 'TikTok',
  issuer: 'https://www.tiktok.com',
  authorizeUrl: () => 'https://www.tiktok.com/v2/auth/authorize/',
  tokenUrl: () => `${API}/oauth/token/`,
  clientIdName: 'client_key',
  scopeSeparator: ',',
  // Its PKCE for web applications is not documented, and for other applications it is not that of the standard.
  pkce: false,
  extraParameters: () => ({}),
  needsPages: false,
  fetchProfile: fetchProfile,
  leadMs: 10 * MINUTE_MS,
  async revoke({ web, clientId, clientSecret }, { access }) {
    const form = { client_key: clientId, client_secret: clientSecret, token: access };
    await requestJson(web, `${API}/oauth/revoke/`, { form });
  },
};

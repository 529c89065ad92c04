import type { Platform } from '../../platform/lib/social-platform.ts';
import { refusalOf, type Reply, type SocialRequest } from './reply.ts';
import { idNameOf } from './script.ts';
import type { Granted, Kind, Tokens } from './tokens.ts';

type Options = {
  readonly tokens: Tokens;
  readonly clientIdOf: (platform: Platform) => string;
  readonly secretOf: (platform: Platform) => string;
  readonly redeem: (platform: Platform, ask: SocialRequest) => Granted | undefined;
};

/** Exchanges codes, refresh tokens and short-lived tokens for tokens, and revokes tokens. */
export function createGranting({ tokens, clientIdOf, secretOf, redeem }: Options) {
  const { issue, isLive, grantedOf, end, takeBack } = tokens;

  function grant(platform: Platform, ask: SocialRequest): Reply {
    const { given } = ask;
    if (given.get(idNameOf(platform)) !== clientIdOf(platform) || given.get('client_secret') !== secretOf(platform))
      return refusalOf(platform, 'invalid_client');
    const grantType = given.get('grant_type');
    if (grantType === 'refresh_token') return refresh(platform, given.get('refresh_token') ?? '');
    if (grantType === 'fb_exchange_token') return lengthen('facebook', given.get('fb_exchange_token') ?? '');
    const granted = grantType === 'authorization_code' ? redeem(platform, ask) : undefined;
    return granted ? { json: grantOf(platform, granted) } : refusalOf(platform, 'invalid_grant');
  }

  function refresh(platform: Platform, old: string): Reply {
    if (!isLive(old, platform, 'refresh')) return refusalOf(platform, 'invalid_grant');
    const { refresh_token: next, ...rest } = grantOf(platform, grantedOf(old));
    if (platform !== 'tiktok') return { json: rest };
    end(old);
    return { json: { ...rest, refresh_token: next } };
  }

  function lengthen(platform: Platform, short: string, ...kinds: Kind[]): Reply {
    const granted = grantedOf(short);
    if (!isLive(short, platform, 'short', ...kinds)) return refusalOf(platform, 'invalid_grant');
    if (kinds.length > 0 && !granted.renewable) return refusalOf(platform, 'invalid_grant');
    const access_token = issue(platform, 'access', granted);
    return { json: { access_token, token_type: 'bearer', expires_in: granted.lifetimeSeconds } };
  }

  function grantOf(platform: Platform, granted: Granted): Record<string, unknown> {
    const { scopes, lifetimeSeconds: expires_in, renewable } = granted;
    const short = platform === 'facebook' || platform === 'instagram';
    const access_token = issue(platform, short ? 'short' : 'access', granted);
    if (platform === 'facebook') return { access_token, token_type: 'bearer' };
    if (platform === 'instagram')
      return { data: [{ access_token, user_id: 'bignumber:17841400000000000123', permissions: scopes.join(',') }] };
    const refresh_token = renewable ? { refresh_token: issue(platform, 'refresh', granted) } : {};
    const common = { access_token, expires_in, ...refresh_token };
    if (platform === 'linkedin') return { ...common, scope: scopes.join(','), id_token: 'a.b.c' };
    if (platform === 'tiktok') return { ...common, open_id: 'tt-1', scope: scopes.join(','), token_type: 'Bearer' };
    return { ...common, scope: scopes.join(' '), token_type: 'Bearer', id_token: 'a.b.c' };
  }

  function revoke(platform: Platform, { given }: SocialRequest): Reply {
    if (!isLive(given.get('token') ?? '', platform, 'access', 'refresh')) return { status: 400, json: {} };
    takeBack(platform);
    return {};
  }

  return { grant, lengthen, revoke };
}

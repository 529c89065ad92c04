import type { Platform } from '../../platform/lib/social-platform.ts';

/** Purpose of a request to a network. */
export type Purpose = 'authorize' | 'token' | 'revoke' | 'read';

/** The addresses of the networks; `v` stands for the version of the Graph. */
const ADDRESSES: Readonly<Record<string, readonly [Platform, Purpose]>> = {
  'www.facebook.com/v/dialog/oauth': ['facebook', 'authorize'],
  'www.instagram.com/oauth/authorize': ['instagram', 'authorize'],
  'www.linkedin.com/oauth/v2/authorization': ['linkedin', 'authorize'],
  'accounts.google.com/o/oauth2/v2/auth': ['google', 'authorize'],
  'www.tiktok.com/v2/auth/authorize/': ['tiktok', 'authorize'],
  'graph.facebook.com/v/oauth/access_token': ['facebook', 'token'],
  'api.instagram.com/oauth/access_token': ['instagram', 'token'],
  'www.linkedin.com/oauth/v2/accessToken': ['linkedin', 'token'],
  'oauth2.googleapis.com/token': ['google', 'token'],
  'open.tiktokapis.com/v2/oauth/token/': ['tiktok', 'token'],
  'www.linkedin.com/oauth/v2/revoke': ['linkedin', 'revoke'],
  'oauth2.googleapis.com/revoke': ['google', 'revoke'],
  'open.tiktokapis.com/v2/oauth/revoke/': ['tiktok', 'revoke'],
};

/** The hosts of the networks' APIs. */
const HOSTS: Readonly<Record<string, Platform>> = {
  'graph.facebook.com': 'facebook',
  'graph.instagram.com': 'instagram',
  'api.linkedin.com': 'linkedin',
  'www.googleapis.com': 'google',
  'mybusinessaccountmanagement.googleapis.com': 'google',
  'mybusinessbusinessinformation.googleapis.com': 'google',
  'open.tiktokapis.com': 'tiktok',
};

/** Meta has ended the versions before (developers.facebook.com/docs/graph-api/changelog/versions). */
const OLDEST_GRAPH = 21;

export type Target = {
  readonly platform: Platform;
  readonly purpose: Purpose;
  /** The path of an API, without its host; the version of the Graph is `v`. */
  readonly path: string;
};

/** Finds the network and the purpose of an address, `host/path`; undefined if there is none. */
export function targetOf(address: string): Target | undefined {
  const [, version] = /^(?:graph|www)\.(?:facebook|instagram)\.com\/v(\d{1,3})\.\d\//.exec(address) ?? [];
  if (version !== undefined && Number(version) < OLDEST_GRAPH) return undefined;
  const known = version === undefined ? address : address.replace(/\/v[\d.]+\//, '/v/');
  const mark = known.indexOf('/');
  const path = known.slice(mark + 1);
  const [platform, purpose] = ADDRESSES[known] ?? [HOSTS[known.slice(0, mark)], 'read'];
  return platform === undefined ? undefined : { platform, purpose, path };
}

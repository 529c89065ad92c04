import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseJson } from '../channels/settings.ts';
import { isPlatform, type Platform } from '../core/channels.ts';
import { isRecord } from '../core/schema.ts';
import { SECOND_MS } from '../core/time.ts';

/** Behaviour of the networks; may be changed at any time. */
export type SocialScript = {
  /** The scopes that our app may not ask for. */
  unapproved: readonly string[];
  /** The Facebook app has Facebook Login for Business: its dialog takes a `config_id`, and no scopes. */
  businessLogin: boolean;
  /** The Facebook pages belong to a business portfolio. */
  portfolio: boolean;
  /** The oldest version of the LinkedIn API that is active. */
  oldestVersion: string;
  /** Google has not approved the project. */
  noQuota: boolean;
  /** Every response is a 503. */
  unavailable: boolean;
  /** The issuer in the authorization response, in addition to code and state. */
  iss: string | null;
};

export const DEFAULT_SCRIPT: SocialScript = {
  unapproved: [],
  businessLogin: false,
  portfolio: false,
  oldestVersion: '202511',
  noQuota: false,
  unavailable: false,
  iss: null,
};

/** Choice of a person on the consent page, which a browser sends as parameters of the same URL. */
export type Choice = {
  readonly decision: 'grant' | 'refuse' | 'unapproved';
  /** The scopes that were left selected. */
  readonly scopes: readonly string[];
  /** The number of pages, organisations or locations. */
  readonly linked: number;
  /** The lifetime of tokens that are not short-lived. */
  readonly lifetimeSeconds: number;
  /** True if the tokens can be renewed: LinkedIn allows that only to some apps. */
  readonly renewable: boolean;
};

/** The name of the credentials of our app at each network. */
export const idNameOf = (platform: Platform): string => (platform === 'tiktok' ? 'client_key' : 'client_id');

/** A request to a simulated network. */
export type SocialRequest = {
  readonly method: string;
  readonly query: URLSearchParams;
  /** Query and form fields together. */
  readonly given: URLSearchParams;
  readonly bearer: string;
  readonly linkedinVersion: string;
};

/** The response of a simulated network: JSON, a page, a redirect or a picture. */
export type Reply = {
  readonly status?: number;
  readonly json?: unknown;
  readonly html?: string;
  readonly location?: string;
  readonly png?: Buffer;
};

/** Returns the response of a network that rejects an exchange of tokens. */
export function refusalOf(platform: Platform, error: string): Reply {
  if (platform === 'facebook')
    return { status: 400, json: { error: { message: 'Error validating', type: 'OAuthException', code: 190 } } };
  if (platform === 'instagram')
    return { status: 400, json: { error_type: 'OAuthException', code: 400, error_message: 'Invalid code' } };
  return { status: platform === 'tiktok' ? 200 : 400, json: { error, error_description: `refused: ${error}` } };
}

/** Returns the response of a network that rejects a token. */
export function unauthorized(platform: Platform): Reply {
  if (platform === 'facebook' || platform === 'instagram') return refusalOf('facebook', '');
  if (platform === 'tiktok') return { status: 401, json: { error: { code: 'access_token_invalid', message: 'gone' } } };
  if (platform === 'google') return { status: 401, json: { error: { code: 401, status: 'UNAUTHENTICATED' } } };
  return { status: 401, json: { message: 'revoked', serviceErrorCode: 65601, status: 401 } };
}

export type Kind = 'short' | 'access' | 'refresh' | 'page';

/** Grant that a token stands for. */
export type Granted = Pick<Choice, 'scopes' | 'linked' | 'lifetimeSeconds' | 'renewable'>;
type Claims = Granted & { readonly endsAt: number };
type Token = { readonly platform: Platform; readonly kind: Kind; readonly claims: Claims; live: boolean };

export type Tokens = ReturnType<typeof createTokens>;

/**
 * Issues tokens, and knows the valid ones. A token contains its grant, signed with `key`: so those of an earlier run
 * with the same key are still valid, and profiles outlive a restart of the sandbox.
 */
export function createTokens(key: Buffer) {
  const tokens = new Map<string, Token>();
  const secrets = new Set<string>();

  const sign = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');

  function newSecret(prefix: string): string {
    const secret = `${prefix}${randomBytes(24).toString('base64url')}`;
    secrets.add(secret);
    return secret;
  }

  function find(text: string): Token | undefined {
    const known = tokens.get(text) ?? read(text);
    if (known) tokens.set(text, known);
    return known;
  }

  /** Reads a token of an earlier run. */
  function read(text: string): Token | undefined {
    const [name = '', payload = '', signature = ''] = text.split('.');
    const [platform = '', kind = ''] = name.split('-');
    const [ours, theirs] = [Buffer.from(sign(`${name}.${payload}`)), Buffer.from(signature)];
    if (ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return undefined;
    const claims = parseJson(Buffer.from(payload, 'base64url').toString());
    if (!isPlatform(platform) || !isRecord(claims)) return undefined;
    // Signed by us, so it has our shape.
    return { platform, kind: kind as Kind, claims: claims as Claims, live: true };
  }

  return {
    secrets,
    newSecret,
    issue(platform: Platform, kind: Kind, granted: Granted): string {
      const endsAt = kind === 'access' ? Date.now() + granted.lifetimeSeconds * SECOND_MS : Number.MAX_SAFE_INTEGER;
      const claims: Claims = { ...granted, endsAt };
      const payload = Buffer.from(JSON.stringify({ ...claims, nonce: randomBytes(9).toString('base64url') }));
      const unsigned = `${platform}-${kind}.${payload.toString('base64url')}`;
      const text = `${unsigned}.${sign(unsigned)}`;
      secrets.add(text);
      tokens.set(text, { platform, kind, claims, live: true });
      return text;
    },
    isLive(text: string, platform: Platform, ...kinds: Kind[]): boolean {
      const known = find(text);
      const isOurs = known?.platform === platform && kinds.includes(known.kind);
      return isOurs && known.live && Date.now() < known.claims.endsAt;
    },
    /** Returns the grant of a valid token. */
    grantedOf: (text: string): Granted =>
      find(text)?.claims ?? { scopes: [], linked: 0, lifetimeSeconds: 0, renewable: false },
    end(text: string): void {
      const known = find(text);
      if (known) known.live = false;
    },
    takeBack(platform: Platform): void {
      for (const known of tokens.values()) if (known.platform === platform) known.live = false;
    },
    live: (platform: Platform) =>
      [...tokens].flatMap(([text, known]) => (known.live && known.platform === platform ? [text] : [])),
  };
}

/** Caller as a network knows it. */
type Caller = {
  readonly script: SocialScript;
  readonly granted: Granted;
  /** Issues an access token of a page. */
  issuePage(): string;
};
type ListingReply = { readonly status?: number; readonly json: unknown };

const PAGE = 100;
const PICTURE = 'https://cdn.sandbox.test/ada.png';

/** Handles a path of the networks' APIs for the holder of a token: people, pages, organisations, locations. */
export function readListing(path: string, query: URLSearchParams, who: Caller): ListingReply {
  const from = Number(query.get('after') ?? query.get('start') ?? query.get('pageToken') ?? 0);
  const listing = LISTINGS[path];
  return listing ? listing(who, from, query) : { status: 404, json: { message: `no ${path}` } };
}

function range<T>({ granted }: Caller, from: number, make: (n: number) => T): T[] {
  return Array.from({ length: Math.max(0, Math.min(PAGE, granted.linked - from)) }, (_, i) => make(from + i));
}

function pages(who: Caller, from: number): ListingReply {
  const data = range(who, from, (n) => ({ id: `page-${n}`, name: `Page ${n}`, access_token: who.issuePage() }));
  const next = from + PAGE < who.granted.linked ? { next: 'https://graph.facebook.com/next' } : {};
  return { json: { data, paging: { cursors: { after: String(from + PAGE) }, ...next } } };
}

const person = (): ListingReply => ({
  json: { sub: 'person-1', name: 'Ada Acme', email: 'ada@acme.test', picture: PICTURE },
});

const LISTINGS: Readonly<Record<string, (who: Caller, from: number, query: URLSearchParams) => ListingReply>> = {
  'v/me': (_who, _from, query) =>
    query.get('fields')?.startsWith('user_id')
      ? { json: { user_id: 'bignumber:17841400000000000123', username: 'acme', name: 'Acme' } }
      : { json: { id: 'fb-1', name: 'Ada Acme', picture: { data: { url: PICTURE } } } },

  'v/me/permissions': ({ granted: { scopes } }) => ({
    json: { data: scopes.map((permission) => ({ permission, status: 'granted' })) },
  }),

  // It does not list pages in a business portfolio (trypostit/trypost#292).
  'v/me/accounts': (who, from) => (who.script.portfolio ? { json: { data: [] } } : pages(who, from)),

  'v/me/businesses': ({ granted: { scopes } }) =>
    scopes.includes('business_management')
      ? { json: { data: [{ id: 'biz-1' }] } }
      : { status: 403, json: { error: { message: '(#200) Requires business_management permission', code: 200 } } },
  'v/biz-1/owned_pages': (who, from) => pages(who, from),
  // For a page of which the person has no part, no token is issued (ChatbotXIO/ChatbotX#711).
  'v/biz-1/client_pages': () => ({ json: { data: [{ id: 'page-of-another', name: 'Of another' }] } }),

  'v2/userinfo': ({ granted: { scopes } }) =>
    scopes.includes('openid')
      ? person()
      : {
          status: 403,
          json: { status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions to access: userinfo' },
        },
  'v2/me': () => ({
    json: { id: 'li-1', localizedFirstName: 'Ada', localizedLastName: 'Acme', vanityName: 'ada-acme' },
  }),
  'oauth2/v3/userinfo': person,

  // The role of the first one does not allow posting.
  'rest/organizationAcls': (who, from) =>
    who.granted.scopes.includes('rw_organization_admin')
      ? {
          json: {
            elements: range(who, from, (n) => ({
              role: n === 0 ? 'ANALYST' : 'ADMINISTRATOR',
              state: 'APPROVED',
              organization: `urn:li:organization:${n}`,
            })),
          },
        }
      : { status: 403, json: { status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions to access' } },

  'rest/organizations': (_who, _from, query) => {
    const ids = /^List\((.*)\)$/.exec(query.get('ids') ?? '')?.[1]?.split(',') ?? [];
    return { json: { results: Object.fromEntries(ids.map((id) => [id, { localizedName: `Organisation ${id}` }])) } };
  },

  'v1/accounts': ({ script }) =>
    script.noQuota
      ? {
          status: 429,
          json: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded: 0 per minute' } },
        }
      : { json: { accounts: [{ name: 'accounts/1', accountName: 'Acme' }] } },

  'v1/accounts/1/locations': (who, from, query) => {
    if (query.get('readMask') === null) return { status: 400, json: { error: { code: 400 } } };
    const locations = range(who, from, (n) => ({ name: `locations/${n}`, title: `Shop ${n}` }));
    return { json: { locations, ...(from + PAGE < who.granted.linked && { nextPageToken: String(from + PAGE) }) } };
  },

  // A field of a scope that was not granted makes it reject the whole request (SocialiteProviders/Providers#1198).
  'v2/user/info/': ({ granted: { scopes } }, _from, query) => {
    const fields = (query.get('fields') ?? '').split(',');
    const message = 'The user did not authorize the scope required for completing this request.';
    if (fields.includes('username') && !scopes.includes('user.info.profile'))
      return { status: 401, json: { data: {}, error: { code: 'scope_not_authorized', message, log_id: '1' } } };
    const all = { open_id: 'tt-1', display_name: 'Acme', username: 'acme', avatar_url: PICTURE };
    const user = Object.fromEntries(Object.entries(all).filter(([name]) => fields.includes(name)));
    return { json: { data: { user }, error: { code: 'ok', message: '', log_id: '1' } } };
  },
};

/** Purpose of a request to a network. */
type Purpose = 'authorize' | 'token' | 'revoke' | 'read';

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

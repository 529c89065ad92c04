import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Platform } from '../../../src/platform/lib/social-platform.ts';
import { readListing } from './listings.ts';

/** The PUBLIC_URL that the program is given, to which the networks redirect. Nothing listens there. */
const PUBLIC_URL = 'http://gateway.test';

/** What the networks do next; may be changed at any time. */
export type OauthScript = {
  /** The person refuses, or unticks these scopes. */
  cancel: boolean;
  without: readonly string[];
  /** The number of pages, organisations or locations that a person has. */
  pages: number;
  /** The lifetime in seconds of tokens that are not short-lived. */
  lifetimeSeconds: number;
  /** Whether refresh tokens are issued: by LinkedIn only to approved applications, by Google only on request. */
  refreshTokens: boolean;
  /** Google has not approved the project. */
  noQuota: boolean;
  /** Every answer is 503. */
  unavailable: boolean;
  /** The issuer in the authorization response, besides code and state. */
  iss: string | null;
};

export type OauthServer = AsyncDisposable & {
  /** SOCIAL_URL, PUBLIC_URL and the application credentials of each network. */
  readonly environment: Readonly<Record<string, string>>;
  readonly script: OauthScript;
  /** Everything secret that was issued: codes and tokens. */
  readonly secrets: Set<string>;
  /** The tokens that are valid now. */
  validTokens(platform: Platform): string[];
  /** Revokes what the person granted, as in the settings of the network. */
  revoke(platform: Platform): void;
  /**
   * Opens the URL as the person would, who agrees or not; resolves with the redirect of the network, or undefined if
   * there is none.
   */
  visit(authorizeUrl: string): Promise<URL | undefined>;
};

type Kind = 'short' | 'access' | 'refresh' | 'page';
type Token = { readonly platform: Platform; readonly kind: Kind; readonly scopes: readonly string[]; live: boolean };
type Code = {
  readonly platform: Platform;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly challenge: string | null;
};

type IncomingRequest = {
  readonly method: string;
  /** Host and path of the network. */
  readonly address: string;
  readonly query: URLSearchParams;
  /** Query and form fields together. */
  readonly given: URLSearchParams;
  readonly bearer: string;
};
export type Reply = { readonly status?: number; readonly json?: unknown; readonly location?: string };

const CLIENTS: Readonly<Record<Platform, string>> = {
  facebook: 'fb-app',
  instagram: 'ig-app',
  linkedin: 'li-app',
  google: 'go-app',
  tiktok: 'tt-app',
};
const AUTHORIZE: Readonly<Record<string, Platform>> = {
  'www.facebook.com/v23.0/dialog/oauth': 'facebook',
  'www.instagram.com/oauth/authorize': 'instagram',
  'www.linkedin.com/oauth/v2/authorization': 'linkedin',
  'accounts.google.com/o/oauth2/v2/auth': 'google',
  'www.tiktok.com/v2/auth/authorize/': 'tiktok',
};
const TOKEN: Readonly<Record<string, Platform>> = {
  'graph.facebook.com/v23.0/oauth/access_token': 'facebook',
  'api.instagram.com/oauth/access_token': 'instagram',
  'www.linkedin.com/oauth/v2/accessToken': 'linkedin',
  'oauth2.googleapis.com/token': 'google',
  'open.tiktokapis.com/v2/oauth/token/': 'tiktok',
};
const REVOKE: Readonly<Record<string, Platform>> = {
  'www.linkedin.com/oauth/v2/revoke': 'linkedin',
  'oauth2.googleapis.com/revoke': 'google',
  'open.tiktokapis.com/v2/oauth/revoke/': 'tiktok',
};

const secretOf = (platform: Platform): string => `secret-of-${platform}`;
const idNameOf = (platform: Platform): string => (platform === 'tiktok' ? 'client_key' : 'client_id');

/**
 * Starts the five networks on one socket, each with its own names, errors and peculiarities (protocol sheet "social",
 * 7): they refuse what the real networks refuse. `https://host/path` is served as `/host/path`.
 */
export async function startOauthServer(): Promise<OauthServer> {
  const script: OauthScript = {
    cancel: false,
    without: [],
    pages: 3,
    lifetimeSeconds: 5_184_000,
    refreshTokens: true,
    noQuota: false,
    unavailable: false,
    iss: null,
  };
  const networks = createNetworks(script);
  const server = createServer((request, response) => {
    void readRequest(request).then((ask) => {
      const reply = script.unavailable ? { status: 503 } : networks.answer(ask);
      const location = reply.location === undefined ? {} : { location: reply.location };
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...location });
      response.end(reply.json === undefined ? '' : stringify(reply.json));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const clients = Object.entries(CLIENTS).flatMap(([platform, id]) => [
    [`${platform.toUpperCase()}_CLIENT_ID`, id],
    [`${platform.toUpperCase()}_CLIENT_SECRET`, `secret-of-${platform}`],
  ]);
  return {
    environment: { ...Object.fromEntries(clients), SOCIAL_URL: `http://127.0.0.1:${address.port}`, PUBLIC_URL },
    script,
    secrets: networks.secrets,
    validTokens: networks.live,
    revoke: networks.takeBack,
    async visit(authorizeUrl) {
      const response = await fetch(authorizeUrl, { redirect: 'manual' });
      const location = response.headers.get('location');
      return location === null ? undefined : new URL(location);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Instagram writes its ids as numbers that are too large for a JavaScript number. */
const stringify = (json: unknown): string => JSON.stringify(json).replace(/"bignumber:(\d+)"/g, '$1');

async function readRequest(request: IncomingMessage): Promise<IncomingRequest> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const given = new URLSearchParams(url.searchParams);
  for (const [name, value] of new URLSearchParams(await text(request))) given.append(name, value);
  const bearer = (request.headers.authorization ?? '').replace('Bearer ', '') || (given.get('access_token') ?? '');
  return { method: request.method ?? '', address: url.pathname.slice(1), query: url.searchParams, given, bearer };
}

/** The tokens that were issued, and whether they are valid. */
function createTokens() {
  const tokens = new Map<string, Token>();
  const secrets = new Set<string>();

  function newSecret(prefix: string): string {
    const secret = `${prefix}${randomBytes(24).toString('base64url')}`;
    secrets.add(secret);
    return secret;
  }

  return {
    secrets,
    newSecret,
    issue(platform: Platform, kind: Kind, scopes: readonly string[]): string {
      const token = newSecret(`${platform}-${kind}-`);
      tokens.set(token, { platform, kind, scopes, live: true });
      return token;
    },
    isLive(token: string, platform: Platform, ...kinds: Kind[]): boolean {
      const known = tokens.get(token);
      return known?.live === true && known.platform === platform && kinds.includes(known.kind);
    },
    scopesOf: (token: string) => tokens.get(token)?.scopes ?? [],
    end(token: string): void {
      const known = tokens.get(token);
      if (known) known.live = false;
    },
    takeBack(platform: Platform): void {
      for (const known of tokens.values()) if (known.platform === platform) known.live = false;
    },
    live: (platform: Platform) =>
      [...tokens].flatMap(([token, known]) => (known.live && known.platform === platform ? [token] : [])),
  };
}

type Tokens = ReturnType<typeof createTokens>;

function createNetworks(script: OauthScript) {
  const tokens = createTokens();
  const authorizing = createAuthorizing(script, tokens);
  const granting = createGranting(script, tokens, authorizing.redeem);
  const reading = createReading(script, tokens, granting.lengthen);
  return {
    secrets: tokens.secrets,
    takeBack: tokens.takeBack,
    live: tokens.live,
    answer(ask: IncomingRequest): Reply {
      const [asked, tokened, revoked] = [AUTHORIZE[ask.address], TOKEN[ask.address], REVOKE[ask.address]];
      if (asked) return authorizing.authorize(asked, ask);
      if (tokened) return granting.grant(tokened, ask);
      return revoked ? granting.revoke(revoked, ask) : reading(ask);
    },
  };
}

/** The consent pages, and the codes that they issue. */
function createAuthorizing(script: OauthScript, { newSecret }: Tokens) {
  const codes = new Map<string, Code>();

  function authorize(platform: Platform, { query }: IncomingRequest): Reply {
    const redirectUri = query.get('redirect_uri') ?? '';
    const registered = redirectUri === `${PUBLIC_URL}/oauth/${platform}/callback`;
    if (query.get(idNameOf(platform)) !== CLIENTS[platform] || !registered || query.get('response_type') !== 'code')
      return { status: 400, json: { error: 'redirect_uri_mismatch' } };
    const back = new URL(redirectUri);
    back.searchParams.set('state', query.get('state') ?? '');
    if (script.iss !== null) back.searchParams.set('iss', script.iss);
    if (script.cancel) back.searchParams.set('error', 'access_denied');
    else back.searchParams.set('code', newCode(platform, redirectUri, query));
    return { status: 302, location: back.href + (platform === 'instagram' ? '#_' : '') };
  }

  function newCode(platform: Platform, redirectUri: string, query: URLSearchParams): string {
    const asked = (query.get('scope') ?? '').split(/[ ,]/);
    const code = newSecret(platform === 'tiktok' ? 'code*' : 'code-');
    const scopes = asked.filter((scope) => !script.without.includes(scope));
    const method = query.get('code_challenge_method');
    const challenge = method === 'S256' ? query.get('code_challenge') : null;
    codes.set(code, { platform, redirectUri, scopes, challenge });
    return code;
  }

  /** Redeems a code; each try uses the code up, right or wrong. */
  function redeem(platform: Platform, { given }: IncomingRequest): Code | undefined {
    const code = codes.get(given.get('code') ?? '');
    codes.delete(given.get('code') ?? '');
    if (code?.platform !== platform || code.redirectUri !== given.get('redirect_uri')) return undefined;
    const verifier = given.get('code_verifier');
    const proven = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url');
    return proven === code.challenge && (platform !== 'google' || proven !== null) ? code : undefined;
  }

  return { authorize, redeem };
}

type Redeem = (platform: Platform, ask: IncomingRequest) => Code | undefined;

/** Exchanges codes, refresh tokens and short-lived tokens for tokens, and revokes tokens. */
function createGranting(script: OauthScript, { issue, isLive, scopesOf, end, takeBack }: Tokens, redeem: Redeem) {
  function grant(platform: Platform, ask: IncomingRequest): Reply {
    const { given } = ask;
    if (given.get(idNameOf(platform)) !== CLIENTS[platform] || given.get('client_secret') !== secretOf(platform))
      return refusalOf(platform, 'invalid_client');
    const grantType = given.get('grant_type');
    if (grantType === 'refresh_token') return refresh(platform, given.get('refresh_token') ?? '');
    if (grantType === 'fb_exchange_token') return lengthen('facebook', given.get('fb_exchange_token') ?? '');
    const code = grantType === 'authorization_code' ? redeem(platform, ask) : undefined;
    return code ? { json: grantOf(platform, code.scopes) } : refusalOf(platform, 'invalid_grant');
  }

  function refresh(platform: Platform, old: string): Reply {
    if (!isLive(old, platform, 'refresh')) return refusalOf(platform, 'invalid_grant');
    const { refresh_token: next, ...rest } = grantOf(platform, scopesOf(old));
    if (platform !== 'tiktok') return { json: rest };
    end(old);
    return { json: { ...rest, refresh_token: next } };
  }

  function lengthen(platform: Platform, short: string, ...kinds: Kind[]): Reply {
    if (!isLive(short, platform, 'short', ...kinds)) return refusalOf(platform, 'invalid_grant');
    const access_token = issue(platform, 'access', scopesOf(short));
    return { json: { access_token, token_type: 'bearer', expires_in: script.lifetimeSeconds } };
  }

  function grantOf(platform: Platform, scopes: readonly string[]): Record<string, unknown> {
    const short = platform === 'facebook' || platform === 'instagram';
    const access_token = issue(platform, short ? 'short' : 'access', scopes);
    if (platform === 'facebook') return { access_token, token_type: 'bearer' };
    if (platform === 'instagram')
      return { data: [{ access_token, user_id: 'bignumber:17841400000000000123', permissions: scopes.join(',') }] };
    const refresh_token = script.refreshTokens ? { refresh_token: issue(platform, 'refresh', scopes) } : {};
    const common = { access_token, expires_in: script.lifetimeSeconds, ...refresh_token };
    if (platform === 'linkedin') return { ...common, scope: scopes.join(','), id_token: 'a.b.c' };
    if (platform === 'tiktok') return { ...common, open_id: 'tt-1', scope: scopes.join(','), token_type: 'Bearer' };
    return { ...common, scope: scopes.join(' '), token_type: 'Bearer', id_token: 'a.b.c' };
  }

  function revoke(platform: Platform, { given }: IncomingRequest): Reply {
    if (!isLive(given.get('token') ?? '', platform, 'access', 'refresh')) return { status: 400, json: {} };
    takeBack(platform);
    return {};
  }

  return { grant, lengthen, revoke };
}

/** The endpoints that need a token. */
function createReading(
  script: OauthScript,
  { issue, isLive, scopesOf, takeBack }: Tokens,
  lengthen: (platform: Platform, short: string, ...kinds: Kind[]) => Reply,
) {
  return (ask: IncomingRequest): Reply => {
    const [host = '', ...path] = ask.address.split('/');
    const platform = OWNERS[host];
    if (!platform || !isLive(ask.bearer, platform, 'access', 'short') || !isProven(platform, ask))
      return unauthorized(platform ?? 'google');
    if (ask.address === 'graph.instagram.com/access_token') return lengthen('instagram', ask.bearer);
    if (ask.address === 'graph.instagram.com/refresh_access_token') return lengthen('instagram', ask.bearer, 'access');
    if (ask.method === 'DELETE') {
      takeBack(platform);
      return { json: { success: true } };
    }
    const issuePage = (): string => issue(platform, 'page', []);
    return readListing(path.join('/'), ask.query, { script, scopes: scopesOf(ask.bearer), issuePage });
  };
}

/** Whether a call has the proof that a Facebook application may require: the token signed with the app secret. */
const isProven = (platform: Platform, { bearer, given }: IncomingRequest): boolean =>
  platform !== 'facebook' ||
  given.get('appsecret_proof') === createHmac('sha256', secretOf(platform)).update(bearer).digest('hex');

const OWNERS: Readonly<Record<string, Platform>> = {
  'graph.facebook.com': 'facebook',
  'graph.instagram.com': 'instagram',
  'api.linkedin.com': 'linkedin',
  'www.googleapis.com': 'google',
  'mybusinessaccountmanagement.googleapis.com': 'google',
  'mybusinessbusinessinformation.googleapis.com': 'google',
  'open.tiktokapis.com': 'tiktok',
};

function refusalOf(platform: Platform, error: string): Reply {
  if (platform === 'facebook')
    return { status: 400, json: { error: { message: 'Error validating', type: 'OAuthException', code: 190 } } };
  if (platform === 'instagram')
    return { status: 400, json: { error_type: 'OAuthException', code: 400, error_message: 'Invalid code' } };
  return { status: platform === 'tiktok' ? 200 : 400, json: { error, error_description: `refused: ${error}` } };
}

function unauthorized(platform: Platform): Reply {
  if (platform === 'facebook' || platform === 'instagram') return refusalOf('facebook', '');
  if (platform === 'tiktok') return { status: 401, json: { error: { code: 'access_token_invalid', message: 'gone' } } };
  if (platform === 'google') return { status: 401, json: { error: { code: 401, status: 'UNAUTHENTICATED' } } };
  return { status: 401, json: { message: 'revoked', serviceErrorCode: 65601, status: 401 } };
}

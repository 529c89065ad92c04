import { createHash, createHmac, randomBytes } from 'node:crypto';
import { PLATFORMS, type Platform } from '../core/channels.ts';
import type { SocialApp } from '../core/config.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from './http-server.ts';
import {
  type Choice,
  createTokens,
  DEFAULT_SCRIPT,
  type Granted,
  idNameOf,
  type Kind,
  type Reply,
  readListing,
  refusalOf,
  type SocialRequest,
  type SocialScript,
  type Target,
  type Tokens,
  targetOf,
  unauthorized,
} from './social-script.ts';

/** The simulated social networks. */
export type SandboxSocial = {
  /** `https://host/path` is served as `<url>/host/path`. */
  readonly url: string;
  /** The credentials of our app at each network. */
  readonly clients: Readonly<Record<Platform, Pick<SocialApp, 'clientId' | 'clientSecret'>>>;
  readonly script: SocialScript;
  /** Everything secret that was issued: codes and tokens. */
  readonly secrets: ReadonlySet<string>;
  /** Serves one of the pages that people see, `host/path`; for other servers that embed them. */
  page(address: string, query: URLSearchParams): SandboxAnswer;
  validTokens(platform: Platform): string[];
  /** Revokes the person's grant, as in the settings of the network. */
  revoke(platform: Platform): void;
  close(): Promise<void>;
};

const MAX_BYTES = 64 * 1024;

/** The policy of the pages: they load nothing and run nothing. A form may lead back to the program. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Starts the five networks on one loopback port.
 *
 * @param options.publicUrl the PUBLIC_URL of the program, to which they send people back
 * @param options.key signs the tokens; with the same key, those of an earlier run stay valid
 */
export async function startSandboxSocial(options: {
  readonly publicUrl: () => string;
  readonly key?: Buffer;
}): Promise<SandboxSocial> {
  const { publicUrl, key = randomBytes(32) } = options;
  const script = { ...DEFAULT_SCRIPT };
  const networks = createNetworks({ script, key, publicUrl });
  const server = await startServer({
    maxBytes: MAX_BYTES,
    handle: (request) => answerOf(networks.answer(request.path.slice(1), readRequest(request))),
  });
  const clients = Object.fromEntries(
    PLATFORMS.map((platform) => [platform, { clientId: clientIdOf(platform), clientSecret: secretOf(platform) }]),
  ) as SandboxSocial['clients'];
  return {
    url: server.url,
    clients,
    script,
    secrets: networks.secrets,
    page(address, query) {
      if (targetOf(address)?.purpose !== 'authorize') return { status: 404, body: 'There is no such page.' };
      return answerOf(
        networks.answer(address, { method: 'GET', query, given: query, bearer: '', linkedinVersion: '' }),
      );
    },
    validTokens: networks.live,
    revoke: networks.takeBack,
    close: server.close,
  };
}

function readRequest({ method, query, headers, body }: SandboxRequest): SocialRequest {
  const given = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(body.toString())) given.append(name, value);
  const bearer = (headers.authorization ?? '').replace('Bearer ', '') || (given.get('access_token') ?? '');
  return { method, query, given, bearer, linkedinVersion: String(headers['linkedin-version'] ?? '') };
}

function answerOf({ status: given, json, html, location, png }: Reply): SandboxAnswer {
  const status = given ?? 200;
  if (location !== undefined) return { status, headers: { location }, body: '' };
  if (png !== undefined) return { status, headers: { 'content-type': 'image/png' }, body: png };
  if (html !== undefined)
    return {
      status,
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY },
      body: html,
    };
  return { status, headers: { 'content-type': 'application/json' }, body: json === undefined ? '' : stringify(json) };
}

/** Instagram writes its ids as numbers that are too large for a JavaScript number. */
const stringify = (json: unknown): string => JSON.stringify(json).replace(/"bignumber:(\d+)"/g, '$1');

type NetworksOptions = {
  readonly script: SocialScript;
  /** Signs the tokens. */
  readonly key: Buffer;
  /** The PUBLIC_URL of the program, to which the networks send people back. */
  readonly publicUrl: () => string;
};

/** The credentials of our app at the simulated networks. */
const clientIdOf = (platform: Platform): string => `sandbox-${platform}`;
const secretOf = (platform: Platform): string => `sandbox-secret-of-${platform}`;

/** The address of a picture of a person. */
const PICTURE_PATH = 'cdn.sandbox.test/ada.png';
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgBAMAAAAQtmoLAAAAMFBMVEUxVX/o7vXCz93N2OTk6/JdepxBY4qBmLM4W4STp77b4+1Jao+nuMxwiqiz' +
    'wdOfscbYP1ebAAAACXBIWXMAAAsTAAALEwEAmpwYAAABm0lEQVRYw+2Wu0oDQRSGg7Jhg4rMZjWwxsUFEQstlqBguXamWrEQO28vYGFls2+gorbC' +
    'QrBOKmvFB1CfwJR2lpaCeNk5OzP/HBCEkK8+X3Jm51ymUhkyZMh/c3vfaS+d2Mc/i0+WbeO3xBcrdvGn4od3m/hq9Ct4uxbCgSiwiuPdqCh4GRQm' +
    'hcQbFDZlYQoKsSzUUfyEIDwCYYQKc0DoUWEGCEdUaADhjgpNIERU8ICQUyEAQkIF/68FdkrsQ7M/K/vi2KXBLj52ebMbiN+i7CHAHjPsQcYflexh' +
    'zB/3/IXCX1kDgLt93eq0W6/HmV38zvz3PaxfWYSPXRRraa2L4p0HubzDFPx+n7ZoaPwP91KU2Mhsyq6IoQRriUrwz7QJ9YWSUJfUvtCwoOnNWCfU' +
    'u7j7ZZSzwI31gnLajAsDLzabAWwJJzEJfooXg8wiLyNFTtXcLAR0aNYEgBbUIRJueEcoHyJGAll2joCkvDPTU49iQd7we1iYloQnLMxKwjkWGuZn' +
    'Upmm+SGm6DrevdGby7EQmF+fiqYbnI35AWrOk+JK7MgjAAAAAElFTkSuQmCC',
  'base64',
);

/**
 * Creates the five networks, each with its own names, errors and peculiarities: they reject what the real networks
 * reject. They were written from the documentation of the networks and from reports of integrations with them.
 */
function createNetworks({ script, key, publicUrl }: NetworksOptions) {
  const tokens = createTokens(key);
  const redirectUriOf = (platform: Platform): string => `${publicUrl()}/oauth/${platform}/callback`;
  const { authorize, redeem } = createAuthorizing({ script, tokens, clientIdOf, redirectUriOf });
  const { grant, lengthen, revoke } = createGranting({ tokens, clientIdOf, secretOf, redeem });

  /** The endpoints that need a token. */
  function read({ platform, path }: Target, ask: SocialRequest): Reply {
    const { bearer, query, linkedinVersion } = ask;
    if (!tokens.isLive(bearer, platform, 'access', 'short') || !isProven(platform, ask)) return unauthorized(platform);
    if (path === 'access_token') return lengthen('instagram', bearer);
    if (path === 'refresh_access_token') return lengthen('instagram', bearer, 'access');
    if (ask.method === 'DELETE') {
      tokens.takeBack(platform);
      return { json: { success: true } };
    }
    if (path.startsWith('rest/') && (linkedinVersion === '' || linkedinVersion < script.oldestVersion))
      return { status: 426, json: inactive(linkedinVersion) };
    const granted = tokens.grantedOf(bearer);
    const issuePage = (): string => tokens.issue(platform, 'page', { ...granted, scopes: [] });
    return readListing(path, query, { script, granted, issuePage });
  }

  return {
    secrets: tokens.secrets,
    takeBack: tokens.takeBack,
    live: tokens.live,
    /** Handles a request for `https://<address>`. */
    answer(address: string, ask: SocialRequest): Reply {
      if (script.unavailable) return { status: 503 };
      if (address === PICTURE_PATH) return { png: PICTURE };
      const target = targetOf(address);
      if (!target) return { status: 404, json: { message: `nothing at ${address}` } };
      const { platform, purpose } = target;
      if (purpose === 'authorize') return authorize(platform, ask);
      if (purpose === 'token') return grant(platform, ask);
      return purpose === 'revoke' ? revoke(platform, ask) : read(target, ask);
    },
  };
}

/** Returns true if a call has the proof that a Facebook app may require: the token signed with the app secret. */
const isProven = (platform: Platform, { bearer, given }: SocialRequest): boolean =>
  platform !== 'facebook' ||
  given.get('appsecret_proof') === createHmac('sha256', secretOf(platform)).update(bearer).digest('hex');

/** Error text of LinkedIn (n8n-io/n8n#28600). */
const inactive = (version: string) => ({
  status: 426,
  code: 'NONEXISTENT_VERSION',
  message: `Requested version ${version} is not active`,
});

const LABELS: Readonly<Record<Platform, string>> = {
  facebook: 'Facebook',
  instagram: 'Instagram',
  linkedin: 'LinkedIn',
  google: 'Google',
  tiktok: 'TikTok',
};
/** Kind of object linked to a profile of a network; the other networks have none. */
const LINKED: Readonly<Partial<Record<Platform, string>>> = {
  facebook: 'Pages',
  linkedin: 'Organisations',
  google: 'Locations',
};
const MAX_LINKED = 2000;
const DAY_SECONDS = 86_400;
const LIFETIMES = [
  [60 * DAY_SECONDS, '60 days'],
  [DAY_SECONDS, 'a day'],
  [120, 'two minutes'],
] as const;

/** Prefix of the parameters that the page adds to those of the program. */
const PREFIX = 'sandbox_';

/** Reads the choice from the parameters of the page; null before the person has chosen. */
function readChoice(platform: Platform, query: URLSearchParams, asked: readonly string[]): Choice | null {
  const decision = query.get(`${PREFIX}decision`);
  if (decision !== 'grant' && decision !== 'refuse' && decision !== 'unapproved') return null;
  const selected = query.getAll(`${PREFIX}scope`);
  const numberOf = (name: string, max: number): number =>
    Math.max(0, Math.min(max, Math.trunc(Number(query.get(`${PREFIX}${name}`))) || 0));
  return {
    decision,
    // LinkedIn grants all scopes or none (Microsoft Learn, "Authorization Code Flow").
    scopes: platform === 'linkedin' ? asked : asked.filter((scope) => selected.includes(scope)),
    linked: numberOf('linked', MAX_LINKED),
    lifetimeSeconds: numberOf('lifetime', 3650 * DAY_SECONDS),
    renewable: query.has(`${PREFIX}renewable`),
  };
}

/** Writes a choice as the page would, for programs that play the person. */
export function writeChoice(query: URLSearchParams, { decision, scopes, ...choice }: Choice): void {
  query.set(`${PREFIX}decision`, decision);
  for (const scope of scopes) query.append(`${PREFIX}scope`, scope);
  query.set(`${PREFIX}linked`, String(choice.linked));
  query.set(`${PREFIX}lifetime`, String(choice.lifetimeSeconds));
  if (choice.renewable) query.set(`${PREFIX}renewable`, 'yes');
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem}
fieldset{border:1px solid #8888;border-radius:8px;margin:1rem 0}
label{display:block;margin:.4rem 0}
.note{border-left:4px solid #b26a00;padding:.25rem .75rem}
button{font:inherit;padding:.5rem 1rem;margin:0 .5rem .5rem 0;cursor:pointer}
code{overflow-wrap:anywhere}`;

/**
 * Makes the consent page, which stands for that of the network and states so. A person grants all or a part of what is
 * requested, or denies it; or has the network reject the app. Facebook renews no access. The page has no scripts.
 */
function consentPage(platform: Platform, query: URLSearchParams, asked: readonly string[]): string {
  const label = LABELS[platform];
  const fixed = platform === 'linkedin';
  const kept = [...query].map(([name, value]) => hidden(name, value)).join('\n');
  const scopes = asked.map((scope) => checkbox('scope', scope, `<code>${escaped(scope)}</code>`, fixed)).join('\n');
  const linked = LINKED[platform];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sandbox: ${label}</title>
<style>${STYLE}</style>
<main>
<h1>${label} (sandbox)</h1>
<p class="note">This is not ${label}. It is the sandbox of Heliograph, which stands in for ${label} as long as no app is
set up there. Nothing leaves this server.</p>
<form method="get">
${kept}
<fieldset><legend>Heliograph asks for</legend>
${scopes}
${fixed ? `<p>${label} grants all of them or none.</p>` : ''}
</fieldset>
<fieldset><legend>What the network answers</legend>
${linked === undefined ? hidden(`${PREFIX}linked`, '0') : select('linked', linked, LINKED_COUNTS)}
${select('lifetime', 'Access lasts', LIFETIMES)}
${platform === 'facebook' ? '' : checkbox('renewable', 'yes', 'Access can be renewed', false)}
</fieldset>
<p>
<button name="${PREFIX}decision" value="grant">Grant access</button>
<button name="${PREFIX}decision" value="refuse">Refuse</button>
<button name="${PREFIX}decision" value="unapproved">Refuse the app</button>
</p>
</form>
</main>
</html>
`;
}

const LINKED_COUNTS = [
  [3, '3'],
  [1, '1'],
  [0, 'none'],
  [150, '150'],
] as const;

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;

const checkbox = (name: string, value: string, content: string, disabled: boolean): string =>
  `<label><input type="checkbox" name="${PREFIX}${name}" value="${escaped(value)}" checked${disabled ? ' disabled' : ''}> ${content}</label>`;

const select = (name: string, content: string, options: readonly (readonly [number, string])[]): string =>
  `<label>${content} <select name="${PREFIX}${name}">${options
    .map(([value, text]) => `<option value="${value}">${text}</option>`)
    .join('')}</select></label>`;

type Code = {
  readonly platform: Platform;
  readonly redirectUri: string;
  readonly granted: Granted;
  readonly challenge: string | null;
};

type Options = {
  readonly script: SocialScript;
  readonly tokens: Tokens;
  readonly clientIdOf: (platform: Platform) => string;
  /** The redirect URI that is registered for our app. */
  readonly redirectUriOf: (platform: Platform) => string;
};

/** Scopes that a configuration of Facebook Login for Business requests. */
const CONFIGURED = ['pages_show_list', 'pages_read_engagement', 'business_management'];

const denied = { error: 'access_denied' };
/** Parameters with which each network reports that the person has cancelled. */
const CANCELLED: Readonly<Record<Platform, Readonly<Record<string, string>>>> = {
  facebook: { ...denied, error_code: '200', error_reason: 'user_denied', error_description: 'Permissions error' },
  instagram: { ...denied, error_reason: 'user_denied', error_description: 'The user denied your request' },
  linkedin: { error: 'user_cancelled_authorize', error_description: 'The user cancelled the authorization' },
  google: denied,
  tiktok: { ...denied, error_description: 'User cancelled the authorization' },
};

/** Error text of LinkedIn (gitroomhq/postiz-app#1658, n8n-io/n8n#14654). */
const unapprovedScope = (scope: string) => ({
  error: 'unauthorized_scope_error',
  error_description: `Scope "${scope}" is not authorized for your application`,
});

/** The consent pages, and the codes that they issue. */
function createAuthorizing({ script, tokens, clientIdOf, redirectUriOf }: Options) {
  const codes = new Map<string, Code>();

  function authorize(platform: Platform, { query }: SocialRequest): Reply {
    const fault = faultOf(platform, query);
    if (fault !== null) return { status: 400, json: { error: fault } };
    const asked = query.has('config_id') ? CONFIGURED : scopesIn(query);
    const choice = readChoice(platform, query, asked);
    if (choice === null) return { html: consentPage(platform, query, asked) };
    const back = new URL(query.get('redirect_uri') ?? '');
    back.searchParams.set('state', query.get('state') ?? '');
    if (script.iss !== null) back.searchParams.set('iss', script.iss);
    const refusal = refusalOf(platform, choice, asked);
    for (const [name, value] of Object.entries(refusal ?? {})) back.searchParams.set(name, value);
    if (refusal === null) back.searchParams.set('code', newCode(platform, query, choice));
    return { status: 302, location: back.href + (platform === 'instagram' ? '#_' : '') };
  }

  /** Returns the error that the network shows on its own page, without sending the person back. */
  function faultOf(platform: Platform, query: URLSearchParams): string | null {
    const registered = query.get('redirect_uri') === redirectUriOf(platform);
    if (query.get(idNameOf(platform)) !== clientIdOf(platform) || !registered || query.get('response_type') !== 'code')
      return 'redirect_uri_mismatch';
    const isUnavailable = platform === 'facebook' && script.businessLogin && !query.has('config_id');
    return isUnavailable ? "It looks like this app isn't available" : null;
  }

  function refusalOf(platform: Platform, { decision }: Choice, asked: readonly string[]) {
    const unapproved =
      decision === 'unapproved' ? asked.at(-1) : asked.find((each) => script.unapproved.includes(each));
    if (unapproved !== undefined) return unapprovedScope(unapproved);
    return decision === 'refuse' ? CANCELLED[platform] : null;
  }

  function newCode(platform: Platform, query: URLSearchParams, granted: Granted): string {
    const code = tokens.newSecret(platform === 'tiktok' ? 'code*' : 'code-');
    const challenge = query.get('code_challenge_method') === 'S256' ? query.get('code_challenge') : null;
    codes.set(code, { platform, redirectUri: query.get('redirect_uri') ?? '', granted, challenge });
    return code;
  }

  /** Redeems a code; each try uses the code up, right or wrong. */
  function redeem(platform: Platform, { given }: SocialRequest): Granted | undefined {
    const code = codes.get(given.get('code') ?? '');
    codes.delete(given.get('code') ?? '');
    if (code?.platform !== platform || code.redirectUri !== given.get('redirect_uri')) return undefined;
    const verifier = given.get('code_verifier');
    const proven = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url');
    const isProven = proven === code.challenge && (platform !== 'google' || proven !== null);
    return isProven ? code.granted : undefined;
  }

  return { authorize, redeem };
}

const scopesIn = (query: URLSearchParams): string[] => (query.get('scope') ?? '').split(/[ ,]/);

type GrantingOptions = {
  readonly tokens: Tokens;
  readonly clientIdOf: (platform: Platform) => string;
  readonly secretOf: (platform: Platform) => string;
  readonly redeem: (platform: Platform, ask: SocialRequest) => Granted | undefined;
};

/** Exchanges codes, refresh tokens and short-lived tokens for tokens, and revokes tokens. */
function createGranting({ tokens, clientIdOf, secretOf, redeem }: GrantingOptions) {
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

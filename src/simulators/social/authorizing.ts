import { createHash } from 'node:crypto';
import type { Platform } from '../../platform/lib/social-platform.ts';
import { consentPage, readChoice } from './consent.ts';
import type { Reply, SocialRequest } from './reply.ts';
import { type Choice, idNameOf, type SocialScript } from './script.ts';
import type { Granted, Tokens } from './tokens.ts';

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
export function createAuthorizing({ script, tokens, clientIdOf, redirectUriOf }: Options) {
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

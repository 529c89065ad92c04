import * as oauth from 'oauth4webapi';
import { describeFault, type GuardedFetch } from '../core/outbound.ts';
import { type Claims, type SettingsRow, SignOnFailure } from './single-sign-on.ts';

/** A provider as its discovery document describes it. Read for each sign-in, so that its changes count immediately. */
export type Provider = oauth.AuthorizationServer;

type Settings = Pick<SettingsRow, 'clientId' | 'groupsClaim' | 'scopes'>;

/**
 * Reads the discovery document of an issuer (OpenID Connect Discovery 1.0), which must name that issuer. Rejects with a
 * SignOnFailure.
 */
export async function discover(fetch: GuardedFetch, issuer: string): Promise<Provider> {
  const url = new URL(issuer);
  const provider = await withFailures(async () =>
    oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, through(fetch))),
  );
  // The browser is sent there: it must not be a script, nor plain HTTP.
  if (URL.parse(provider.authorization_endpoint ?? '')?.protocol !== 'https:')
    throw new SignOnFailure('untrusted', 'the provider names no authorization endpoint with https');
  return provider;
}

type Challenge = {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly challenge: string;
  /** True if the person must sign in, even if the provider knows them from an earlier sign-in. */
  readonly isFresh: boolean;
};

/** Returns the URL at which a person signs in: authorization code with PKCE. */
export function authorizationUrl(
  provider: Provider,
  { clientId, scopes }: Settings,
  { redirectUri, state, nonce, challenge, isFresh }: Challenge,
): string {
  const url = new URL(provider.authorization_endpoint ?? '');
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopes.join(' '),
    state,
    nonce,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    // Some providers know only one of the two (OpenID Connect Core 1.0, 3.1.2.1).
    ...(isFresh && { prompt: 'login', max_age: '0' }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

type Answer = {
  /** The query of the callback. */
  readonly parameters: URLSearchParams;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
};

/**
 * Exchanges the code of a callback for an ID token, and checks issuer, audience, expiry, nonce and the signature by the
 * provider's keys (OpenID Connect Core 1.0, 3.1.3.7). Returns its claims. Rejects with a SignOnFailure.
 */
export async function readClaims(
  fetch: GuardedFetch,
  provider: Provider,
  settings: Settings & { readonly secret: string | null },
  { parameters, state, nonce, verifier, redirectUri }: Answer,
): Promise<Claims> {
  const client = { client_id: settings.clientId };
  const options = through(fetch);
  const token = await withFailures(async () => {
    const checked = oauth.validateAuthResponse(provider, client, parameters, state);
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      client,
      authenticationOf(provider, settings.secret),
      checked,
      redirectUri,
      verifier,
      options,
    );
    const result = await oauth.processAuthorizationCodeResponse(provider, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(provider, response, options);
    return oauth.getValidatedIdTokenClaims(result);
  });
  if (!token || token.sub.length > 255) throw new SignOnFailure('untrusted', 'the subject of the ID token is too long');
  const { email, email_verified: isVerified, auth_time: authTime } = token;
  return {
    subject: token.sub,
    email: typeof email === 'string' && isVerified === true ? email.toLowerCase() : null,
    authenticatedAt: authTime === undefined ? null : new Date(authTime * 1000),
    groups: textsIn(settings.groupsClaim === null ? undefined : token[settings.groupsClaim]),
  };
}

const textsIn = (claim: unknown): string[] => [claim].flat().filter((each) => typeof each === 'string');

/** Basic unless the provider accepts only the other way; a public client proves itself by PKCE alone. */
function authenticationOf(provider: Provider, secret: string | null): oauth.ClientAuth {
  if (secret === null) return oauth.None();
  const accepted = provider.token_endpoint_auth_methods_supported;
  return accepted !== undefined && !accepted.includes('client_secret_basic') && accepted.includes('client_secret_post')
    ? oauth.ClientSecretPost(secret)
    : oauth.ClientSecretBasic(secret);
}

/** Options that send every request of the library through the guarded client. */
const through = (fetch: GuardedFetch) => ({
  [oauth.customFetch]: (
    url: string,
    { method, headers, body }: oauth.CustomFetchOptions<'GET' | 'POST', URLSearchParams | undefined>,
  ) =>
    fetch(url, { method, headers, body: body?.toString() }).catch((cause: unknown) => {
      throw new SignOnFailure('unavailable', describeFault(cause), { cause });
    }),
});

/** Turns the errors of the library into a SignOnFailure. They may quote tokens, so only their codes are kept. */
async function withFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error);
  }
}

function failureOf(error: unknown): unknown {
  if (error instanceof SignOnFailure) return error;
  if (error instanceof oauth.AuthorizationResponseError)
    return new SignOnFailure('cancelled', 'the provider did not sign the person in');
  if (error instanceof oauth.ResponseBodyError)
    return new SignOnFailure(
      error.status >= 500 ? 'unavailable' : 'untrusted',
      `the provider refused: ${code(error.error)}`,
    );
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return new SignOnFailure('untrusted', 'the provider refused the client: check its ID and secret');
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
    return new SignOnFailure(statusIn(error) >= 500 ? 'unavailable' : 'untrusted', error.message.slice(0, 200));
  return error;
}

/** Codes of errors are short words (RFC 6749 5.2); anything else is not shown. */
const code = (text: string): string => (/^[a-z_]{1,40}$/.test(text) ? text : 'an unknown error');

/** Returns the status of a response that the library did not expect; 0 if the error is about something else. */
const statusIn = ({ cause }: Error): number => (cause instanceof Response ? cause.status : 0);

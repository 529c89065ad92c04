import * as oauth from 'oauth4webapi';
import { getList, getMember, getText, parseJson } from '../channels/settings.ts';
import type { Platform } from '../core/channels.ts';
import type { Config, SimulatedNetwork, SocialApp } from '../core/config.ts';
import { AppError } from '../core/errors.ts';
import { USER_AGENT } from '../core/outbound.ts';
import type { SecretKey } from '../core/secrets.ts';
import { type Clock, SECOND_MS } from '../core/time.ts';

/** Tokens that a network issues for a code or for a refresh token. */
export type Grant = {
  readonly access: string;
  /** The refresh token; null if the network issues none. */
  readonly refresh: string | null;
  /** Expiry of the token; null: it does not expire. */
  readonly expiresAt: Date | null;
  /** The granted scopes; empty if the response does not contain them. */
  readonly scopes: readonly string[];
};

/** A page, an organisation or a location that belongs to a profile. */
export type Linked = { readonly id: string; readonly name: string; readonly type: string };

export type Profile = {
  readonly externalId: string;
  readonly username: string | null;
  readonly name: string;
  readonly pictureUrl: string | null;
  /** The scopes that the person granted, if the network is asked for them; null: those of the grant count. */
  readonly scopes: readonly string[] | null;
  readonly linked: readonly Linked[];
  /** The network's message about why it did not list the linked pages, organisations or locations; null if it did. */
  readonly linkedFault: string | null;
  /** The separate tokens of linked pages, by the ids of the pages. */
  readonly linkedTokens: Readonly<Record<string, string>>;
};

/** Our app as the network knows it, and the web access to the network. */
export type Caller = SocialApp & { readonly web: Web; now(): Date };

/** A network: its addresses and its peculiarities. */
export type Network = {
  readonly platform: Platform;
  /** Name shown to people. */
  readonly label: string;
  /** The required value of `iss` in its responses, if there is one. */
  readonly issuer: string;
  authorizeUrl(app: SocialApp): string;
  tokenUrl(app: SocialApp): string;
  readonly clientIdName: 'client_id' | 'client_key';
  readonly scopeSeparator: ',' | ' ';
  readonly pkce: boolean;
  /** Parameters of the authorize URL in addition to those of OAuth; null values are omitted. */
  extraParameters(app: SocialApp): Readonly<Record<string, string | null>>;
  /** True if a profile without pages is useless. */
  readonly needsPages: boolean;
  /**
   * Exchanges the first token, which lives for an hour, for a long-lived one. Undefined: the network has no such
   * tokens.
   */
  exchangeForLongLived?(caller: Caller, grant: Grant): Promise<Grant>;
  /**
   * Requests the profile of a grant and its linked pages, organisations or locations, as far as its scopes allow that.
   */
  fetchProfile(caller: Caller, grant: Pick<Grant, 'access' | 'scopes'>): Promise<Profile>;
  /** Renews the access token itself. Undefined: the network has refresh tokens, or no renewal. */
  renew?(caller: Caller, access: string): Promise<Grant>;
  /** Time before its expiry at which a token is renewed. */
  readonly leadMs: number;
  /**
   * Revokes the grant. Undefined: the network does not support this; the person can do it in the settings of the
   * network.
   */
  revoke?(caller: Caller, grant: Pick<Grant, 'access' | 'refresh'> & { readonly externalId: string }): Promise<void>;
};

/** Returns the expiry of a token that lives for `seconds` from now; null if that is not a positive number. */
export function expiryFrom({ now }: Pick<Caller, 'now'>, seconds: unknown): Date | null {
  return typeof seconds === 'number' && seconds > 0 ? new Date(now().getTime() + seconds * SECOND_MS) : null;
}

/** Reads scopes: a list, or a text with commas or spaces between them. */
const scopesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/[\s,]+/) : []).filter(
    (scope) => scope !== '',
  );

/** Web access to a network: at its own addresses, or below those of its simulator. */
type Web = {
  /** Returns the address to which a request for an address of the network is sent. */
  at(address: string): string;
  /** Returns the address of a page of the network, for the browser of a person. */
  pageAt(address: string): string;
  /** Sends a request, which may take at most ten seconds; follows no redirect. Rejects with a NetworkFailure. */
  fetch(url: string, init: RequestInit): Promise<Response>;
};

const TIMEOUT_MS = 10_000;
const MAX_MESSAGE_LENGTH = 300;

/**
 * A network rejected a request, or did not respond. The message is for people, and is that of the network if it sent
 * one, with its code. It contains no token, and no address that the program requested, because those contain tokens.
 */
export class NetworkFailure extends Error {
  /** True if the grant has ended: retrying cannot help, and the person must connect the profile again. */
  readonly grantEnded: boolean;

  constructor(message: string, { grantEnded }: { grantEnded: boolean }) {
    super(message);
    this.grantEnded = grantEnded;
  }
}

export const createWeb = (simulated: SimulatedNetwork | null): Web => ({
  at: (address) => (simulated === null ? address : below(simulated.apiUrl, address)),
  pageAt: (address) => (simulated === null ? address : below(simulated.pagesUrl, address)),
  fetch(url, init) {
    // The OAuth library sets its own User-Agent.
    const headers = new Headers(init.headers);
    headers.set('user-agent', USER_AGENT);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return fetch(url, { ...init, headers, redirect: 'error', signal }).catch(() => {
      throw new NetworkFailure('The network did not respond', { grantEnded: false });
    });
  },
});

const below = (url: string, address: string): string => `${url}/${address.replace(/^https:\/\//, '')}`;

type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Requests JSON from an address of a network. Rejects with a NetworkFailure unless the request succeeds. */
export async function requestJson(
  web: Web,
  address: string,
  { method, query, form, bearer, headers }: RequestOptions,
): Promise<unknown> {
  const url = new URL(web.at(address));
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const body = form === undefined ? null : new URLSearchParams(form);
  const init = { method: method ?? (form ? 'POST' : 'GET'), headers: { ...headers, ...authorization }, body };
  return readResponse(await web.fetch(url.href, init));
}

/**
 * Reads the JSON of a response. Networks report errors in four forms, TikTok even with 200. Rejects with a
 * NetworkFailure.
 */
async function readResponse(response: Response): Promise<unknown> {
  const text = await response.text().catch(() => {
    throw new NetworkFailure('The response of the network was incomplete', { grantEnded: false });
  });
  const json = parseJson(withoutBigNumbers(text));
  const failure = failureIn(json);
  if (failure) throw failure;
  if (!response.ok)
    throw new NetworkFailure(messageOrStatus(json, response.status), { grantEnded: response.status === 401 });
  return json ?? {};
}

/** Puts long ids into quotes: those of Instagram are numbers that exceed the precision of JavaScript numbers. */
const withoutBigNumbers = (text: string): string => text.replace(/("(?:user_)?id"\s*:\s*)(\d{15,})/g, '$1"$2"');

const GRANT_ENDED_CODES = new Set(['invalid_grant', 'access_token_invalid', '190']);

function failureIn(json: unknown): NetworkFailure | undefined {
  const error = getMember(json, 'error');
  if (typeof error === 'string' && error !== '') {
    const message = toWords(getText(json, 'error_description'), error);
    return new NetworkFailure(message, { grantEnded: GRANT_ENDED_CODES.has(error) });
  }
  const code = codeIn(error);
  if (code === '' || code === 'ok') return undefined;
  const status = getText(error, 'status');
  const grantEnded = GRANT_ENDED_CODES.has(code) || status === 'UNAUTHENTICATED';
  return new NetworkFailure(toWords(getText(error, 'message'), code), { grantEnded });
}

function codeIn(error: unknown): string {
  const code = getMember(error, 'code');
  return typeof code === 'number' ? String(code) : getText(error, 'code');
}

const messageOrStatus = (json: unknown, status: number): string =>
  toWords(getText(json, 'error_message') || getText(json, 'message'), getText(json, 'code') || `status ${status}`);

/**
 * Makes one line of a network's message and its code, of at most 300 characters. Anything that looks like a token is
 * omitted: networks repeat what they were sent.
 */
export function toWords(message: string, code: string): string {
  const both = message === '' || message === code ? code : code === '' ? message : `${message} (${code})`;
  const line = both
    .replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, ' ')
    .replaceAll(/[\w.~+-]{40,}/g, '…')
    .trim();
  return line.length <= MAX_MESSAGE_LENGTH ? line : `${line.slice(0, MAX_MESSAGE_LENGTH - 1).toWellFormed()}…`;
}

/** Returns the URL at which a person consents. `challenge` is null if the network does not use PKCE. */
export function authorizeUrl(
  network: Network,
  caller: Caller,
  { state, redirectUri, challenge }: { state: string; redirectUri: string; challenge: string | null },
): string {
  const url = new URL(caller.web.pageAt(network.authorizeUrl(caller)));
  const pkce = challenge === null ? {} : { code_challenge: challenge, code_challenge_method: 'S256' };
  const parameters: Readonly<Record<string, string | null>> = {
    [network.clientIdName]: caller.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: caller.scopes.join(network.scopeSeparator),
    state,
    ...pkce,
    ...network.extraParameters(caller),
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}

type AuthorizationResponse = {
  /** The query of the callback. */
  readonly parameters: URLSearchParams;
  readonly state: string;
  readonly redirectUri: string;
  readonly verifier: string | null;
};

/**
 * Exchanges a code for a grant, after the response was checked: one `state`, at most one `iss`, which must be the
 * network's, and no `error`. The code is used once. Rejects with a NetworkFailure.
 */
export async function exchangeCode(network: Network, caller: Caller, answered: AuthorizationResponse): Promise<Grant> {
  const [server, client] = [serverOf(network, caller), { client_id: caller.clientId }];
  const { state, redirectUri, verifier } = answered;
  const parameters = new URLSearchParams(answered.parameters);
  // Instagram appends this to the code.
  const code = parameters.get('code');
  if (code?.endsWith('#_')) parameters.set('code', code.slice(0, -2));
  return withNetworkFailures(async () => {
    const checked = oauth.validateAuthResponse(server, client, parameters, state);
    const proof = verifier ?? oauth.nopkce;
    const [auth, options] = [authenticate(network, caller), optionsOf(caller)];
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      auth,
      checked,
      redirectUri,
      proof,
      options,
    );
    return toGrant(
      caller,
      await oauth.processAuthorizationCodeResponse(server, client, await toStandardResponse(response)),
    );
  });
}

/** Requests new tokens with a refresh token. If the network issues no new refresh token, the old one remains in use. */
export function refreshGrant(network: Network, caller: Caller, refresh: string): Promise<Grant> {
  const [server, client] = [serverOf(network, caller), { client_id: caller.clientId }];
  return withNetworkFailures(async () => {
    const auth = authenticate(network, caller);
    const response = await oauth.refreshTokenGrantRequest(server, client, auth, refresh, optionsOf(caller));
    const grant = toGrant(
      caller,
      await oauth.processRefreshTokenResponse(server, client, await toStandardResponse(response)),
    );
    return { ...grant, refresh: grant.refresh ?? refresh };
  });
}

const serverOf = (network: Network, caller: Caller): oauth.AuthorizationServer => ({
  issuer: network.issuer,
  token_endpoint: caller.web.at(network.tokenUrl(caller)),
});

/**
 * Authenticates the application: all five networks require the secret in the body; TikTok has another name for the id.
 */
const authenticate =
  ({ clientIdName }: Network, { clientId, clientSecret }: Caller): oauth.ClientAuth =>
  (_server, _client, body) => {
    body.set(clientIdName, clientId);
    body.set('client_secret', clientSecret);
  };

const optionsOf = ({ web }: Caller): oauth.TokenEndpointRequestOptions => ({
  [oauth.customFetch]: (url, { method, headers, body }) => web.fetch(url, { method, headers, body }),
  // For simulated networks on this machine; the addresses of the real ones are all https.
  [oauth.allowInsecureRequests]: true,
});

/**
 * Converts a token response to the standard form: Instagram wraps it and omits fields. Identity tokens are removed,
 * because they are not used.
 */
async function toStandardResponse(response: Response): Promise<Response> {
  const json = await readResponse(response);
  const wrapped = getList(json, 'data')[0] ?? json;
  const access = getMember(wrapped, 'access_token');
  const scopes = scopesOf(getMember(wrapped, 'scope') ?? getMember(wrapped, 'permissions'));
  const [refresh, expires] = [getMember(wrapped, 'refresh_token'), getMember(wrapped, 'expires_in')];
  return Response.json({
    access_token: access,
    token_type: 'bearer',
    scope: scopes.join(' '),
    ...(refresh !== undefined && { refresh_token: refresh }),
    ...(expires !== undefined && { expires_in: expires }),
  });
}

const toGrant = (caller: Caller, answer: oauth.TokenEndpointResponse): Grant => ({
  access: answer.access_token,
  refresh: answer.refresh_token ?? null,
  expiresAt: expiryFrom(caller, answer.expires_in),
  scopes: scopesOf(answer.scope),
});

/** Replaces errors of the library by our own: its messages contain the parameters, including codes and tokens. */
async function withNetworkFailures(work: () => Promise<Grant>): Promise<Grant> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NetworkFailure) throw error;
    const refused = error instanceof oauth.AuthorizationResponseError;
    const message = refused ? 'The person or the network refused' : 'The response is not from this network';
    throw new NetworkFailure(message, { grantEnded: refused });
  }
}

/**
 * Lists the pages, organisations or locations of a profile. If the network refuses to list them, the profile is still
 * connected and the network's message is kept. Rejects with a NetworkFailure if the grant has ended.
 */
export async function listOrFault(
  list: () => Promise<readonly Linked[]>,
): Promise<Pick<Profile, 'linked' | 'linkedFault'>> {
  try {
    return { linked: await list(), linkedFault: null };
  } catch (error) {
    if (!(error instanceof NetworkFailure) || error.grantEnded) throw error;
    return { linked: [], linkedFault: error.message };
  }
}

export type SocialDeps = {
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
};

/** Returns the app and the web access for calling a network. Errors: 502 naming the settings that are missing. */
export function callerOf({ config, clock }: Omit<SocialDeps, 'secretKey'>, platform: Platform): Caller {
  const app = config.social[platform];
  const { clientId, clientSecret } = app;
  const name = platform.toUpperCase();
  const missing = [
    ...(clientId === '' ? [`${name}_CLIENT_ID`] : []),
    ...(clientSecret === '' ? [`${name}_CLIENT_SECRET`] : []),
  ];
  if (missing.length > 0)
    throw new AppError('bad_gateway', { message: `Not configured: ${missing.join(' and ')} on the server` });
  return { ...app, web: createWeb(app.simulated), now: clock.now };
}

/** Returns the URL to which a network sends people back; exactly this URL must be registered there. */
export const redirectUriOf = ({ config }: Pick<SocialDeps, 'config'>, platform: Platform): string =>
  `${config.publicUrl}/oauth/${platform}/callback`;

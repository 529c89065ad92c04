import * as oauth from 'oauth4webapi';
import { getList, getMember } from '../../../carriers/json.ts';
import { type Caller, expiryFrom, type Grant, type Network, scopesOf } from './network.ts';
import { NetworkFailure, readResponse } from './web.ts';

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
    throw new NetworkFailure(message, { grantEnded: true });
  }
}

import { generateKeyPairSync, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import Provider, { type Configuration, type JWK } from 'oidc-provider';
import { TEST_CERT, TEST_KEY } from '../http/certificate.ts';

export const CLIENT = { id: 'heliograph', secret: 'the secret of the client' };

/** A person at the provider. */
export type Identity = {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly groups?: readonly string[];
};

/** An ID token about to be sent: a test may change it. The signature is made afterwards, unless `alg` is none. */
export type Token = { header: Record<string, unknown>; claims: Record<string, unknown>; key: string };

export type TestProvider = AsyncDisposable & {
  readonly issuer: string;
  readonly port: number;
  /** Person who signs in next, without a dialog; null: the person cancels. */
  person: Identity | null;
  /** Changes the ID tokens before they are signed; null: they are sent as the provider made them. */
  forge: ((token: Token) => void) | null;
  /** True if all requests get a 503. */
  isDown: boolean;
  /** True if responses have `iss` and the metadata announce it (RFC 9207), which is optional for providers. */
  sendsIssuer: boolean;
  /** Sets where it may send people back to. */
  register(redirectUri: string): void;
  /** Replaces the signing key. */
  rotateKey(): void;
};

type Key = { readonly pem: string; readonly jwk: JWK };

/**
 * Starts a real OpenID Connect provider on this machine, over HTTPS with `TEST_CERT`, that knows one client. Until
 * `register`, it sends no user back.
 */
export async function startProvider(): Promise<TestProvider> {
  const server = https.createServer({ cert: TEST_CERT, key: TEST_KEY }, (request, response) => {
    handle(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const issuer = `https://localhost:${address.port}`;
  let redirectUri = 'https://nowhere.example.com';
  let keys = 0;
  let key = newKey(`key-${keys}`);
  let provider = createProvider();
  const state: TestProvider = {
    issuer,
    port: address.port,
    person: null,
    forge: null,
    isDown: false,
    sendsIssuer: true,
    register(uri) {
      redirectUri = uri;
      provider = createProvider();
    },
    rotateKey() {
      keys += 1;
      key = newKey(`key-${keys}`);
      provider = createProvider();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function createProvider(): Provider {
    const made = new Provider(
      issuer,
      configurationOf(redirectUri, key, () => state.person),
    );
    made.on('server_error', (_, error) => console.error(error));
    return made;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (state.isDown) return void response.writeHead(503).end();
    const { pathname } = new URL(request.url ?? '/', issuer);
    if (pathname.startsWith('/interaction/')) return interact(provider, state.person, request, response);
    if (!state.sendsIssuer) hideIssuer(response);
    if (pathname === '/token' && state.forge) forgeTokens(response, state.forge, key);
    await provider.callback()(request, response);
  }
  return state;
}

function newKey(kid: string): Key {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' };
  return { pem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), jwk: jwk as JWK };
}

const configurationOf = (redirectUri: string, { jwk }: Key, person: () => Identity | null): Configuration => ({
  clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirectUri] }],
  jwks: { keys: [jwk] },
  cookies: { keys: ['a key of the cookies of the test'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
  scopes: ['openid', 'email'],
  // In the ID token itself, not only at the userinfo endpoint.
  conformIdTokenClaims: false,
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...person(), sub }) }),
});

/** Answers the dialogs of the provider for the person. */
async function interact(
  provider: Provider,
  person: Identity | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (person === null)
    return provider.interactionFinished(request, response, {
      error: 'access_denied',
      error_description: 'The person went away',
    });
  const { prompt, params, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: person.sub, remember: false } });
  const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant = found ?? new provider.Grant({ accountId: person.sub, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId: await grant.save() } },
    { mergeWithLastSubmission: true },
  );
}

/** Rewrites the ID token in the JSON of this response. */
function forgeTokens(response: ServerResponse, forge: (token: Token) => void, key: Key): void {
  rewrite(response, (body) => {
    const answer = JSON.parse(body);
    if (typeof answer.id_token === 'string') answer.id_token = forged(answer.id_token, forge, key);
    return JSON.stringify(answer);
  });
}

/** Removes `iss` from the redirect and its announcement from the metadata, whichever this response will be. */
function hideIssuer(response: ServerResponse): void {
  rewrite(response, (body) => {
    const location = URL.parse(String(response.getHeader('location') ?? ''));
    location?.searchParams.delete('iss');
    if (location) response.setHeader('location', location.href);
    return body.replace('"authorization_response_iss_parameter_supported":true,', '');
  });
}

/** Changes the body of a response before it is sent. */
function rewrite(response: ServerResponse, change: (body: string) => string): void {
  const end = response.end.bind(response);
  Object.assign(response, {
    end(body: string | Buffer = '') {
      const text = change(String(body));
      response.setHeader('content-length', Buffer.byteLength(text));
      return end(text);
    },
  });
}

function forged(text: string, forge: (token: Token) => void, { pem }: Key): string {
  const [header = '', claims = ''] = text.split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  const token: Token = { header: read(header), claims: read(claims), key: pem };
  forge(token);
  const write = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const signed = `${write(token.header)}.${write(token.claims)}`;
  const signature =
    token.header['alg'] === 'none' ? '' : sign('sha256', Buffer.from(signed), token.key).toString('base64url');
  return `${signed}.${signature}`;
}

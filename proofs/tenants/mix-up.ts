import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { followTo } from '../../test/support/oidc/browser.ts';
import { startProvider } from '../../test/support/oidc/provider.ts';
import { settingsFor } from '../../test/support/oidc/stage.ts';
import type { Run } from '../lib/proof.ts';
import type { Account, Stage } from '../lib/stage.ts';

const PG = '/api/partner-gateway/v1';
const SETTINGS = `${PG}/account/single-sign-on`;
const PUBLIC_URL = 'https://console.example.com';
const ATTEMPTS = 3;

/** Results of the attacks of `mixUp`. */
export type MixUps = {
  /** Attacks in which a person was sent to the hostile provider. */
  readonly mixUps: number;
  /** Codes of the honest provider that the gateway sent to the hostile one. */
  readonly strayCodes: number;
  /** Sessions of the attacker, or of a person whom the hostile provider sent back. */
  readonly straySessions: number;
  /** Addresses of a domain claimed without proof that led to the hostile provider. */
  readonly misled: number;
  /** Sign-ins of the same person without an attack that gave a session. */
  readonly honestSignIns: number;
};

/**
 * Attacks an account, whose honest provider sends no `iss`, with the provider of another account: it passes the person on
 * to the honest provider, with the nonce and the challenge of a sign-in that the attacker began there, and hopes for the
 * code (mix-up, RFC 9700 section 4.4). People get to it by the short name of that account, or by typing their own address,
 * whose domain that account has claimed. Providers and people are real; the gateway is another process of the stage.
 */
export async function mixUp(run: Run, stage: Stage): Promise<MixUps> {
  await using honest = await startProvider();
  await using hostile = await startHostile();
  const caFile = join(run.folder, 'providers.pem');
  await writeFile(caFile, TEST_CERT);
  const gateway = await stage.startApi({
    PUBLIC_URL,
    TRUST_PROXY: '127.0.0.1',
    WEBHOOK_CA_FILE: caFile,
    SINGLE_SIGN_ON_PORTS: `${new URL(honest.issuer).port},${new URL(hostile.issuer).port}`,
  });
  const browser = createBrowser(String(gateway.ready['address']));
  const account = await stage.newAccount({ plan: 'unlimited' });
  const redirectUri = await setUp(browser, account, {
    ...settingsFor(honest.issuer),
    shortName: 'victim',
    emailDomains: [],
    defaultRole: null,
    groupRoles: [{ group: 'staff', role: 'admin' }],
  });
  honest.register(redirectUri);
  honest.sendsIssuer = false;
  honest.person = { sub: 'person', email: 'person@victim.example', email_verified: true, groups: ['staff'] };
  await setUp(browser, await stage.newAccount({ plan: 'trial' }), {
    ...settingsFor(hostile.issuer),
    shortName: 'hostile',
    emailDomains: ['victim.example'],
  });

  const found = { mixUps: 0, strayCodes: 0, straySessions: 0, misled: 0, honestSignIns: 0 };
  for (let n = 0; n < ATTEMPTS; n++) {
    const undisturbed = await browser.begin('victim');
    if (undisturbed && (await browser.arrive(await browser.visit(undisturbed), undisturbed))) found.honestSignIns++;
    for (const company of ['hostile', 'person@victim.example']) {
      const [ofAttacker, ofPerson] = [await browser.begin('victim'), await browser.begin(company)];
      if (!ofAttacker || !ofPerson) continue;
      if (company.includes('@')) found.misled++;
      found.mixUps++;
      hostile.sendTo(ofAttacker.authorizeUrl);
      if (await browser.arrive(await browser.visit(ofPerson), ofPerson)) found.straySessions++;
      for (const code of hostile.takeCodes()) {
        found.strayCodes++;
        if (await browser.arrive(returnWith(ofAttacker, code), ofAttacker)) found.straySessions++;
      }
    }
  }
  return found;
}

type Begun = { readonly authorizeUrl: URL; readonly cookie: string };

/** The redirect with which the provider would have ended a begun sign-in. */
function returnWith({ authorizeUrl }: Begun, code: string): URL {
  const url = new URL(authorizeUrl.searchParams.get('redirect_uri') ?? '');
  url.searchParams.set('state', authorizeUrl.searchParams.get('state') ?? '');
  url.searchParams.set('code', code);
  return url;
}

/** Stores the settings of an account; returns the redirect URI to register at its provider. */
async function setUp({ ask }: Browser, { apiKey }: Account, settings: object): Promise<string> {
  const { status, body } = await ask('PUT', SETTINGS, { 'x-api-key': apiKey }, settings);
  if (status !== 200) throw new Error(`single sign-on returned ${status}: ${JSON.stringify(body)}`);
  return String(Reflect.get(Object(body), 'redirectUri'));
}

type Browser = ReturnType<typeof createBrowser>;

/** Browsers of several people, behind an HTTPS proxy of the gateway at this origin. */
function createBrowser(origin: string) {
  let addresses = 0;
  async function ask(method: string, path: string, headers: Readonly<Record<string, string>>, body?: object) {
    addresses += 1;
    const answer = await fetch(`${origin}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-proto': 'https',
        'x-forwarded-for': `198.51.100.${addresses % 250}`,
        'x-heliograph-console': '1',
        'sec-fetch-site': 'same-origin',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    return { status: answer.status, cookies: answer.headers.getSetCookie(), body: json };
  }
  return {
    ask,
    /** Begins a sign-in with the text that a user types; undefined where it leads nowhere. */
    async begin(company: string): Promise<Begun | undefined> {
      const { status, body, cookies } = await ask('POST', `${PG}/session/single-sign-on`, {}, { company });
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`${company} returned ${status}: ${JSON.stringify(body)}`);
      const authorizeUrl = new URL(String(Reflect.get(Object(body), 'authorizeUrl')));
      return { authorizeUrl, cookie: cookies.map((line) => line.split(';')[0]).join('; ') };
    },
    /** Signs in wherever the sign-in leads, until a provider sends the browser back to the gateway. */
    visit: ({ authorizeUrl }: Begun): Promise<URL> => followTo(PUBLIC_URL, authorizeUrl.href),
    /** Arrives at the gateway; returns whether that gave a session. */
    async arrive({ pathname, search }: URL, { cookie }: Begun): Promise<boolean> {
      const { status, cookies } = await ask('GET', `${pathname}${search}`, { cookie });
      if (status !== 303) throw new Error(`the callback returned ${status}`);
      return cookies.some((line) => line.startsWith('__Host-heliograph='));
    },
  };
}

/** Starts a provider that passes people on to a foreign one, and keeps the codes that it gets. */
async function startHostile() {
  const codes: string[] = [];
  let next = new URL('https://nowhere.example.com');
  const server = https.createServer({ cert: TEST_CERT, key: TEST_KEY }, (request, response) => {
    handle(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const issuer = `https://localhost:${typeof address === 'object' ? address?.port : ''}`;
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
    if (pathname === '/authorize') {
      const url = new URL(next);
      url.searchParams.set('state', searchParams.get('state') ?? '');
      response.writeHead(303, { location: url.href }).end();
    } else if (pathname === '/token') {
      const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
      codes.push(...form.getAll('code'));
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    } else {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ issuer, ...endpointsOf(issuer) }));
    }
  }

  return {
    issuer,
    /** Sends people there from now on, with the state of their sign-in. */
    sendTo(authorizeUrl: URL): void {
      next = authorizeUrl;
    },
    takeCodes: (): string[] => codes.splice(0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const endpointsOf = (issuer: string) => ({
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
});

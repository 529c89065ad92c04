import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TEST_CERT } from '../http/certificate.ts';
import { startNameServer } from '../http/name-server.ts';
import { PG } from '../http/routes.ts';
import { OWN_PAGES } from '../http/session-stage.ts';
import { startTestProgram } from '../program.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { followTo } from './browser.ts';
import { CLIENT, startProvider } from './provider.ts';

/** Public URL of the program under test: the beginning of all redirect URIs. */
export const PUBLIC_URL = 'https://console.example.com';

const SETTINGS = `${PG}/account/single-sign-on`;

type Asking = { readonly body?: object; readonly cookie?: string; readonly key?: string; readonly from?: string };

/** Settings that let every user of example.com in, as a viewer. */
export const settingsFor = (issuer: string) => ({
  shortName: 'acme',
  enabled: true,
  issuer,
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret as string | null | undefined,
  scopes: ['openid', 'email'],
  groupsClaim: 'groups' as string | null,
  groupRoles: [{ group: 'staff', role: 'sender' }],
  defaultRole: 'viewer' as string | null,
  emailDomains: ['example.com'],
  required: false,
  emergencyUserId: null as number | null,
});

/** Starts the program, a provider that it may reach and at which its account is registered, and a name server. */
export async function openSignOnStage(environment: Readonly<Record<string, string>> = {}) {
  const provider = await startProvider();
  const texts = new Map<string, readonly string[]>();
  const nameServer = await startNameServer(
    (name) => (name.endsWith('.silent.example') ? 'silence' : []),
    (name) => texts.get(name) ?? [],
  );
  const caFile = join(await temporaryFolder('heliograph-ca-'), 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  const program = await startTestProgram({
    carriers: {},
    roles: { worker: false },
    environment: {
      PUBLIC_URL,
      TRUST_PROXY: '127.0.0.1',
      WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
      SINGLE_SIGN_ON_PORTS: `443,${provider.port}`,
      WEBHOOK_CA_FILE: caFile,
      DNS_SERVERS: nameServer.address,
      ...environment,
    },
  });

  let browsers = 0;
  /** Each browser has its own address, so that the limits of one do not meet another. */
  const newAddress = (): string => {
    browsers += 1;
    return `198.51.${Math.floor(browsers / 200)}.${(browsers % 200) + 1}`;
  };

  /** Sends a request as a page of the console in a browser with these cookies, through an HTTPS proxy. */
  async function ask(method: string, path: string, options: Asking = {}) {
    const { body, cookie, key, from = newAddress() } = options;
    const answer = await fetch(`${program.origin()}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...OWN_PAGES,
        'x-forwarded-for': from,
        'x-forwarded-proto': 'https',
        ...(body && { 'content-type': 'application/json' }),
        ...(cookie !== undefined && { cookie }),
        ...(key !== undefined && { 'x-api-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text.startsWith('{') ? JSON.parse(text) : text,
      cookies: answer.headers.getSetCookie().map((line) => line.split(';')[0] ?? ''),
      location: answer.headers.get('location') ?? '',
    };
  }

  /** Begins a sign-in with the company and follows the browser to the provider and back; returns what it comes with. */
  async function begin(company = 'acme', next?: string) {
    const begun = await ask('POST', `${PG}/session/single-sign-on`, { body: { company, ...(next && { next }) } });
    if (begun.status !== 200) throw new Error(`returned ${begun.status}: ${JSON.stringify(begun.body)}`);
    return comeBack(begun);
  }

  /** Follows the browser of a begun sign-in to the provider and back; returns what it comes with. */
  async function comeBack({ body, cookies }: { readonly body: { authorizeUrl: string }; cookies: readonly string[] }) {
    const { pathname, searchParams } = await followTo(PUBLIC_URL, body.authorizeUrl);
    const url = new URL(body.authorizeUrl);
    return { path: pathname, parameters: searchParams, cookie: cookies.join('; '), url };
  }

  type Back = { readonly path: string; readonly parameters: URLSearchParams; readonly cookie?: string };
  /** Arrives at the callback. */
  const arrive = ({ path, parameters, cookie }: Back) =>
    ask('GET', `${path}?${parameters}`, cookie === undefined ? {} : { cookie });

  const signIn = async (company?: string, next?: string) => arrive(await begin(company, next));

  /** Stores settings, by default those of `settingsFor`, with these changes. */
  const put = (changes: object = {}) =>
    ask('PUT', SETTINGS, {
      key: program.account.apiKey,
      body: { ...settingsFor(provider.issuer), ...changes },
    });

  const read = async (key = program.account.apiKey) => (await ask('GET', SETTINGS, { key })).body;
  const verify = (domain: string, key = program.account.apiKey) =>
    ask('POST', `${SETTINGS}/domains/${domain}/verify`, { key });
  /** Creates the DNS record of each mail domain of the account that is not proven yet, and has it checked. */
  async function prove(key = program.account.apiKey): Promise<void> {
    const { settings } = await read(key);
    for (const { domain, isProven, record } of settings.domains) {
      if (isProven) continue;
      texts.set(record.name, [record.value]);
      const { status, body } = await verify(domain, key);
      if (status !== 200) throw new Error(`${domain} is not proven: ${JSON.stringify(body)}`);
    }
  }
  provider.register((await read()).redirectUri);

  /** Returns the session of the cookies that a response has set. */
  const sessionOf = (answer: { readonly cookies: readonly string[] }) =>
    ask('GET', `${PG}/session`, {
      cookie: answer.cookies.filter((pair) => pair.startsWith('__Host-heliograph=')).join('; '),
    });

  return {
    program,
    provider,
    ask,
    /** The TXT records of the name server, by name. */
    texts,
    read,
    verify,
    prove,
    begin,
    comeBack,
    arrive,
    signIn,
    put,
    sessionOf,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      await nameServer[Symbol.asyncDispose]();
    },
  };
}

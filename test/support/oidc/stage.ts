import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OWN_PAGES } from '../http/session-stage.ts';
import { PG } from '../http/routes.ts';
import { startTestProgram } from '../program.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { TEST_CERT } from '../http/certificate.ts';
import { followTo } from './browser.ts';
import { CLIENT, startProvider } from './provider.ts';

/** Where the program believes to be. */
export const PUBLIC_URL = 'https://console.example.com';
export const CALLBACK = '/oauth/single-sign-on/callback';

type Asking = { readonly body?: object; readonly cookie?: string; readonly key?: string; readonly from?: string };

/** Settings that let everybody of example.com in, as viewers. */
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

/** Starts the program and a provider that it may reach. */
export async function openSignOnStage(environment: Readonly<Record<string, string>> = {}) {
  const provider = await startProvider(`${PUBLIC_URL}${CALLBACK}`);
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
      ...environment,
    },
  });

  let browsers = 0;
  /** Each browser has an address of its own, so that the limits of one do not meet another. */
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
    if (begun.status !== 200) throw new Error(`answered ${begun.status}: ${JSON.stringify(begun.body)}`);
    const parameters = await followTo(`${PUBLIC_URL}${CALLBACK}`, begun.body.authorizeUrl);
    return { parameters, cookie: begun.cookies.join('; '), authorizeUrl: String(begun.body.authorizeUrl) };
  }

  /** Arrives at the callback. */
  const arrive = ({ parameters, cookie }: { parameters: URLSearchParams; cookie?: string }) =>
    ask('GET', `${CALLBACK}?${parameters}`, cookie === undefined ? {} : { cookie });

  const signIn = async (company?: string, next?: string) => arrive(await begin(company, next));

  /** Stores settings, by default those of `settingsFor`, with these changes. */
  const put = (changes: object = {}) =>
    ask('PUT', `${PG}/account/single-sign-on`, {
      key: program.account.apiKey,
      body: { ...settingsFor(provider.issuer), ...changes },
    });

  /** Returns the session of the cookies that an answer has set. */
  const sessionOf = (answer: { readonly cookies: readonly string[] }) =>
    ask('GET', `${PG}/session`, {
      cookie: answer.cookies.filter((pair) => pair.startsWith('__Host-heliograph=')).join('; '),
    });

  return {
    program,
    provider,
    ask,
    begin,
    arrive,
    signIn,
    put,
    sessionOf,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

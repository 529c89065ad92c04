import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { ROLES } from '../core/actor.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref, withExamples } from '../core/http/app.ts';
import { requireCredentials, requireScope } from '../core/http/auth.ts';
import { isSecure, requireSameOrigin, sessionCookie } from '../core/http/browser.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { createRateLimiter } from '../core/limits.ts';
import { INSTALLATION_HEADER, installationOf } from '../core/machine.ts';
import type { Outbound } from '../core/outbound-post.ts';
import { id, instant, orNull } from '../core/schema.ts';
import { countRequest } from './accounts.ts';
import { createAddressLimit } from './authenticate.ts';
import { sessionOf } from './session-routes.ts';
import { SESSION_SECONDS } from './sessions.ts';
import {
  domainOf,
  findSettings,
  findSettingsOf,
  findToken,
  hasSingleSignOn,
  PROBLEMS,
  type SettingsRow,
  SignOnFailure,
} from './single-sign-on.ts';
import { changeSettings, proveDomain, recordOf, removeSettings } from './single-sign-on-change.ts';
import {
  beginSignOn,
  beginStepUp,
  browserCookie,
  browserSecretIn,
  type Finished,
  finishSignOn,
  ownPath,
  redirectUriOf,
  STATE_SECONDS,
} from './single-sign-on-flow.ts';

const PG = '/api/partner-gateway/v1';
const SETTINGS = `${PG}/account/single-sign-on`;

/** Dependencies of the routes of single sign-on: providers are called as untrusted servers. */
export type SignOnRouteDeps = PlatformDeps & { readonly outbound: Outbound };

/** Each asks name servers outside. */
const VERIFICATIONS_PER_MINUTE = 10;

/** Registers the settings of single sign-on. They need the scope `keys`. */
export function singleSignOnRoutes(app: App, deps: SignOnRouteDeps): void {
  const { pool, config, secretKey, outbound, answers } = deps;
  const onRequest = requireScope('keys');
  const tags = ['Account'];
  const dnsLimiter = createRateLimiter();
  const show = async (actor: { accountId: number }) => {
    const db = tenant(pool, actor);
    return toSettingsOut(await findSettings(db, actor), redirectUriOf(config, await findToken(db, actor)));
  };

  app.get(SETTINGS, {
    onRequest,
    schema: {
      tags,
      operationId: 'findSingleSignOn',
      summary: 'Get the single sign-on settings of the account',
      response: { 200: SettingsOut },
    },
    handler: ({ actor }) => show(actor),
  });

  app.put(SETTINGS, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'putSingleSignOn',
      summary: 'Configure single sign-on (OpenID Connect)',
      description:
        'People are created at their first sign-in, with their verified email address as the username, and get the ' +
        'role of their group at each. Callers cannot map a group to rights that they lack (403). A short name of ' +
        'another account is 409, and so is `required` before a successful trial.',
      body: withExamples(SettingsIn, SETTINGS_EXAMPLE),
      response: { 200: SettingsOut },
    },
    handler: async ({ actor, body }) => {
      const parts = { secretKey, guard: outbound.signOn.guard };
      await tenantTransaction(pool, actor, (tx) => changeSettings(parts, tx, actor, body));
      return show(actor);
    },
  });

  app.delete(SETTINGS, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'deleteSingleSignOn',
      summary: 'Remove the single sign-on of the account',
      description: 'Its users stay, and sign in with passwords.',
      response: { 204: Type.Null({ description: 'Removed' }) },
    },
    handler: ({ actor }) => tenantTransaction(pool, actor, (tx) => removeSettings(tx, actor)),
  });

  app.post(`${SETTINGS}/domains/:domain/verify`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'verifySingleSignOnDomain',
      summary: 'Prove a mail domain by its DNS record',
      description:
        'Looks for the record that `domains` shows. 404 unless the settings name the domain; 409 without the ' +
        'record, and while another account has proven the domain and its record is still there; 502 if no name ' +
        'server responds. An ' +
        `account may ask ${VERIFICATIONS_PER_MINUTE} times a minute.`,
      params: Type.Object({ domain: Type.String({ maxLength: 253 }) }),
      response: { 200: DomainOut, 404: ref(ErrorOut), 409: ref(ErrorOut), 429: ref(ErrorOut), 502: ref(ErrorOut) },
    },
    handler: idempotentHandler({ answers }, async ({ actor, params }) => {
      const domain = params.domain.toLowerCase();
      const rate = { perMinute: VERIFICATIONS_PER_MINUTE, perSecond: VERIFICATIONS_PER_MINUTE };
      countRequest(dnsLimiter, { name: String(actor.accountId), rate });
      return toDomainOut(domain, await proveDomain({ pool, resolveTexts: outbound.resolveTexts }, actor, domain));
    }),
  });

  app.post(`${SETTINGS}/trial`, {
    onRequest,
    config: { stepUp: { exempt: 'asks the user for a sign-in, and changes nothing' } },
    schema: {
      tags,
      operationId: 'trySingleSignOn',
      summary: 'Try the stored settings',
      description:
        'Sign in at the returned URL in the same browser. It starts no session here; afterwards `lastTrial` ' +
        'contains what a sign-in would have led to. 502 if the provider does not respond as it should.',
      response: { 200: AuthorizeOut, 502: ref(ErrorOut) },
    },
    handler: idempotentHandler({ answers }, async ({ actor }, reply) => {
      const db = tenant(pool, actor);
      const settings = await existing(findSettings(db, actor));
      const begun = await beginSignOn(deps, db, settings, { next: '/', isTrial: true, sessionId: null }).catch(
        asBadGateway,
      );
      return giveCookie(reply, begun);
    }),
  });
}

/** Registers the route with which a session begins a step-up at the provider. */
export function signOnStepUpRoutes(app: App, deps: SignOnRouteDeps): void {
  app.post(`${PG}/session/step-up/single-sign-on`, {
    onRequest: requireCredentials(),
    schema: {
      tags: ['Sessions'],
      operationId: 'beginStepUpSingleSignOn',
      summary: 'Start step-up authentication at your company',
      description:
        'For pages of the console: sends a cookie, and the person signs in at the returned URL in the same browser, even ' +
        'if the provider knows them from an earlier sign-in. Afterwards the provider sends them to `/confirmed`, and the ' +
        'session may do for ten minutes what a step-up is needed for. Only for sessions (403). 404 if the user does not ' +
        'sign in with the provider of the account; 502 if it does not respond as it should.',
      response: { 200: AuthorizeOut, 404: ref(ErrorOut), 502: ref(ErrorOut) },
    },
    handler: idempotentHandler({ answers: deps.answers }, async ({ actor }, reply) =>
      giveCookie(reply, await beginStepUp(deps, deps.pool, sessionOf(actor)).catch(asBadGateway)),
    ),
  });
}

const BEGINS_PER_MINUTE = 20;
/** More than can begin in the meantime. */
const ENDS_PER_MINUTE = 60;

/** Registers the routes with which a sign-in begins. They need no credentials. */
export function beginSignOnRoutes(app: App, deps: SignOnRouteDeps): void {
  const { pool, config } = deps;
  const limit = createAddressLimit(BEGINS_PER_MINUTE);
  const installation = installationOf(deps.secretKey);
  const tags = ['Sessions'];

  app.get(`${PG}/session/options`, {
    schema: {
      tags,
      operationId: 'findSignInOptions',
      summary: 'List sign-in methods',
      security: [],
      response: { 200: OptionsOut },
    },
    handler: async (_request, reply) => {
      // Here and not in /health, which proxies close: `doctor --from-outside` calls it.
      reply.header(INSTALLATION_HEADER, installation);
      return { singleSignOn: await hasSingleSignOn(pool), passwordReset: config.mail !== undefined };
    },
  });

  app.post(`${PG}/session/single-sign-on`, {
    onRequest: requireSameOrigin,
    schema: {
      tags,
      operationId: 'beginSingleSignOn',
      summary: 'Begin to sign in with the provider of an account',
      description:
        'For pages of the console: sends a cookie, and the provider sends the person back to the console in the same ' +
        'browser within ten minutes. 404 if no account has this short name or mail domain.',
      security: [],
      body: withExamples(BeginIn, { company: 'acme' }),
      response: { 200: AuthorizeOut, 404: ref(ErrorOut), 429: ref(ErrorOut), 502: ref(ErrorOut) },
    },
    handler: async ({ ip, body }, reply) => {
      limit(ip);
      const company = body.company.trim().toLowerCase();
      const domain = company.includes('@') ? domainOf(company) : '';
      const settings = await findSettingsOf(pool, { shortName: company, domain });
      if (!settings) throw new AppError('not_found', { message: 'No company with this name uses single sign-on' });
      const input = { next: ownPath(body.next), isTrial: false, sessionId: null };
      return giveCookie(reply, await beginSignOn(deps, pool, settings, input).catch(asBadGateway));
    },
  });
}

function giveCookie(reply: FastifyReply, begun: { readonly authorizeUrl: string; readonly browserSecret: string }) {
  reply.header('set-cookie', browserCookie(begun.browserSecret, STATE_SECONDS)).header('cache-control', 'no-store');
  return { authorizeUrl: begun.authorizeUrl };
}

function asBadGateway(error: unknown): never {
  if (!(error instanceof SignOnFailure)) throw error;
  throw new AppError('bad_gateway', { message: `The provider does not respond as it should: ${error.message}` });
}

/** The page of the console with the settings and the result of a trial. */
const SETTINGS_PAGE = '/security/single-sign-on';
/** Page of the console that ends a step-up in a separate window. */
const STEP_UP_PAGE = '/confirmed';

/**
 * Registers the route to which providers send people back, each with the token of its account. The state in the query
 * and the cookie of the browser are the credential, once. Every response redirects to a page of the console.
 */
export function signOnCallbackRoutes(app: App, deps: SignOnRouteDeps): void {
  const limit = createAddressLimit(ENDS_PER_MINUTE);
  app.get('/oauth/single-sign-on/callback/:token', {
    schema: {
      tags: ['Sessions'],
      security: [],
      operationId: 'finishSingleSignOn',
      summary: 'Finish signing in with a provider',
      description: 'For the browser of the person, which the provider sends here. Leads to a page of the console.',
      params: Type.Object({ token: Type.String({ description: 'The end of the redirect URI of the account.' }) }),
      response: { 303: Type.Null({ description: 'Signed in, tried or denied.' }), 429: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { raw, headers, ip, log, params } = request;
      limit(ip);
      // The raw query: a parameter that occurs twice must be seen twice.
      const { searchParams: parameters } = new URL(raw.url ?? '/', 'http://localhost');
      const browserSecret = browserSecretIn(headers.cookie);
      const browser = { browserSecret, ip, userAgent: headers['user-agent'] ?? '' };
      const returned = { parameters, redirectUri: redirectUriOf(deps.config, params.token), ...browser };
      const end = await finishSignOn(deps, returned).catch(refused);
      if ('failure' in end)
        log.info({ reason: end.failure.message, code: end.failure.problem }, 'a single sign-on was denied');
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      const cookies = [browserCookie('', 0)];
      if (end.kind === 'signed in') cookies.push(sessionCookie(end.session.token, SESSION_SECONDS, isSecure(request)));
      return reply.header('set-cookie', cookies).redirect(pageAfter(end), 303);
    },
  });
}

type Refused = { readonly kind: 'not signed in'; readonly failure: SignOnFailure };

function refused(error: unknown): Refused {
  if (!(error instanceof SignOnFailure)) throw error;
  return { kind: 'not signed in', failure: error };
}

function pageAfter(end: Finished | Refused): string {
  switch (end.kind) {
    case 'signed in':
      return end.next;
    case 'not signed in':
      return `/sign-in?problem=${end.failure.problem}`;
    case 'tried':
      return SETTINGS_PAGE;
    case 'stepped up':
      return STEP_UP_PAGE;
    case 'not stepped up':
      return `${STEP_UP_PAGE}?problem=${end.failure.problem}`;
  }
}

const Role = () => Type.Enum([...ROLES], { type: 'string' });

const fields = {
  shortName: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{1,39}$',
    description: 'Short name that people enter on the sign-in page; unique on this gateway.',
    'x-message': 'must have 2 to 40 lower-case letters, digits and hyphens',
  }),
  enabled: Type.Boolean({ description: 'True if people may sign in with the provider. Trials work without it.' }),
  issuer: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'The issuer identifier of the OpenID Connect provider, below which its discovery document is.',
  }),
  clientId: Type.String({ minLength: 1, maxLength: 500 }),
  scopes: Type.Array(Type.String({ pattern: '^[!#-[\\]-~]{1,100}$' }), {
    minItems: 1,
    maxItems: 20,
    description: 'Mostly openid, email and profile; must contain openid.',
  }),
  groupsClaim: orNull(
    Type.String({ minLength: 1, maxLength: 100, description: 'The claim of the ID token with the groups.' }),
  ),
  groupRoles: Type.Array(Type.Object({ group: Type.String({ minLength: 1, maxLength: 200 }), role: Role() }), {
    maxItems: 100,
    description: 'The first group that a person is in decides the role, at each sign-in.',
  }),
  defaultRole: Type.Union([Role(), Type.Null()], {
    description:
      'The role of people in none of the groups whose mail domain is proven; null: they are denied. Needs ' +
      '`emailDomains`.',
  }),
  emailDomains: Type.Array(
    Type.String({
      pattern: '^[A-Za-z0-9-]{1,63}(\\.[A-Za-z0-9-]{1,63}){1,8}$',
      maxLength: 253,
      'x-message': 'must be a domain such as example.com',
    }),
    {
      maxItems: 50,
      description:
        'Only people with a verified email address in one of these domains may sign in. Once a domain is proven ' +
        '(`domains`), they may also begin with that address, and get `defaultRole`.',
    },
  ),
  required: Type.Boolean({
    description:
      'True if passwords of the account no longer sign in, except those of `emergencyUserId` and of operators of the ' +
      'gateway. Needs a successful trial of these settings.',
  }),
  emergencyUserId: Type.Union([id(), Type.Null()], {
    description: 'The admin whose password signs in when the provider fails, and who always stays an admin.',
  }),
};

const SettingsIn = Type.Object({
  ...fields,
  clientSecret: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()], {
      description: 'Null: the provider knows us as a public client. If omitted, the stored secret is unchanged.',
    }),
  ),
});

const SETTINGS_EXAMPLE: Static<typeof SettingsIn> = {
  shortName: 'acme',
  enabled: false,
  issuer: 'https://login.example.com',
  clientId: 'heliograph',
  clientSecret: 'the secret that the provider issued',
  scopes: ['openid', 'email', 'profile'],
  groupsClaim: 'groups',
  groupRoles: [{ group: 'messaging-admins', role: 'admin' }],
  defaultRole: null,
  emailDomains: ['example.com'],
  required: false,
  emergencyUserId: null,
};

const TrialOut = Type.Object({
  at: instant('UTC'),
  isCurrent: Type.Boolean({ description: 'True if the settings are still those that were tried.' }),
  problem: orNull(Type.Enum([...PROBLEMS], { type: 'string' })),
  detail: orNull(Type.String()),
  email: orNull(Type.String({ description: 'The verified email address.' })),
  groups: Type.Array(Type.String()),
  role: Type.Union([Role(), Type.Null()], { description: 'The role that the person would get.' }),
});

const DOMAIN_EXAMPLE = {
  domain: 'example.com',
  isProven: true,
  record: {
    type: 'TXT',
    name: '_heliograph-challenge.example.com',
    value: 'heliograph-domain-verification=0c1f6f9a4f5b4c55a1d2b0f3c9e8d7a6',
  },
};

const DomainOut = Type.Object(
  {
    domain: Type.String(),
    isProven: Type.Boolean({ description: 'True if the account has shown that the domain is its own.' }),
    record: Type.Object(
      { type: Type.Literal('TXT'), name: Type.String(), value: Type.String() },
      { description: 'The DNS record to create and to keep.' },
    ),
  },
  { examples: [DOMAIN_EXAMPLE] },
);

const SettingsOut = Type.Object({
  redirectUri: Type.String({
    description: 'The redirect URI to register at the provider. Each account has its own, which does not change.',
  }),
  settings: orNull(
    Type.Object({
      ...fields,
      domains: Type.Array(DomainOut, { description: 'The state of each of `emailDomains`.' }),
      hasClientSecret: Type.Boolean({ description: 'The secret itself is never shown.' }),
      lastTrial: orNull(TrialOut),
    }),
  ),
});

const AuthorizeOut = Type.Object(
  {
    authorizeUrl: Type.String({
      description: 'URL at which the person signs in, within ten minutes, in the same browser.',
    }),
  },
  { examples: [{ authorizeUrl: 'https://login.example.com/authorize?client_id=heliograph&response_type=code' }] },
);

const BeginIn = Type.Object({
  company: Type.String({
    minLength: 1,
    maxLength: 254,
    description: 'The short name of the account, or an email address of one of its domains.',
  }),
  next: Type.Optional(
    Type.String({ maxLength: 2000, description: 'The page of the console to continue with; anything else is /.' }),
  ),
});

const OptionsOut = Type.Object({
  singleSignOn: Type.Boolean({ description: 'True if people of any account sign in with a provider.' }),
  passwordReset: Type.Boolean({ description: 'True if the gateway has a mail server for forgotten passwords.' }),
});

type DomainsOf = Pick<SettingsRow, 'provenDomains' | 'token'>;

/** Formats one domain of an account for responses. */
const toDomainOut = (domain: string, { provenDomains, token }: DomainsOf): Static<typeof DomainOut> => ({
  domain,
  isProven: provenDomains.includes(domain),
  record: recordOf(domain, token),
});

/** Formats the settings for responses, without the secret. */
function toSettingsOut(row: SettingsRow | undefined, redirectUri: string): Static<typeof SettingsOut> {
  if (!row) return { redirectUri, settings: null };
  const { accountId: _, token: __, provenDomains: ___, clientSecret, version, lastTrial, ...settings } = row;
  const domains = row.emailDomains.map((domain) => toDomainOut(domain, row));
  const trial = lastTrial && {
    at: lastTrial.at,
    isCurrent: lastTrial.version === version,
    problem: lastTrial.problem,
    detail: lastTrial.detail,
    email: lastTrial.email,
    groups: [...lastTrial.groups],
    role: lastTrial.role,
  };
  return { redirectUri, settings: { ...settings, domains, hasClientSecret: clientSecret !== null, lastTrial: trial } };
}

import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { INSTALLATION_HEADER, installationOf } from '../../platform/installation.ts';
import { removalTx } from '../../platform/http/removal.ts';
import { requireCredentials, requireScope } from '../../platform/http/auth.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { requireSameOrigin } from '../../platform/http/same-origin.ts';
import { ErrorOut, ref, withExamples } from '../../platform/http/schema.ts';
import { createRateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { countRequest } from '../accounts/gate.ts';
import { createDoorLimit } from '../open-door.ts';
import { sessionOf } from '../sessions/step-up.ts';
import { beginSignOn, ownPath, redirectUriOf, STATE_SECONDS } from './begin.ts';
import { changeSettings, removeSettings } from './change.ts';
import { browserCookie } from './cookie.ts';
import { proveDomain } from './domains.ts';
import {
  AuthorizeOut,
  BeginIn,
  DomainOut,
  OptionsOut,
  SettingsIn,
  SettingsOut,
  toDomainOut,
  toSettingsOut,
  SETTINGS_EXAMPLE,
} from './schema.ts';
import { domainOf, SignOnFailure } from './settings.ts';
import { beginStepUp } from './step-up.ts';
import { findSettings, findSettingsOf, findToken, hasSingleSignOn } from './sql.ts';

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
    handler: removalTx({ pool }, ({ actor }, tx) => removeSettings(tx, actor)),
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
      const settings = await findSettings(db, actor);
      if (!settings) throw new AppError('not_found');
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

/** Registers the routes with which a sign-in begins. They need no credentials. */
export function beginSignOnRoutes(app: App, deps: SignOnRouteDeps): void {
  const { pool, config } = deps;
  const limit = createDoorLimit(BEGINS_PER_MINUTE);
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

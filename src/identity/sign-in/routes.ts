import type { FastifyRequest } from 'fastify';
import { tenant } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireCredentials } from '../../platform/http/auth.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { requireSameOrigin } from '../../platform/http/same-origin.ts';
import { ErrorOut, ref, withExamples } from '../../platform/http/schema.ts';
import { isSecure, sessionCookie } from '../../platform/lib/session-cookie.ts';
import { relyingPartyOf } from '../second-factors/passkeys/relying-party.ts';
import { BrowserOptions } from '../second-factors/passkeys/schema.ts';
import { passkeyOptions } from '../second-factors/passkeys/verify.ts';
import { listPasskeys } from '../second-factors/sql.ts';
import { SessionOut } from '../sessions/schema.ts';
import { describeSession } from '../sessions/show.ts';
import { SESSION_SECONDS } from '../sessions/sql.ts';
import { sessionOf } from '../sessions/step-up.ts';
import * as schema from './schema.ts';
import {
  beginPasskeySignIn,
  type Begun,
  type Caller,
  completeByCode,
  shownOf,
  signInByPasskey,
  signInByPassword,
} from './sign-in.ts';
import { stepUp } from './step-up.ts';

const SESSION = '/api/partner-gateway/v1/session';
const tags = ['Sessions'];
const refusals = { 401: ref(ErrorOut), 403: ref(ErrorOut), 404: ref(ErrorOut), 429: ref(ErrorOut) };

const callerOf = ({ ip, headers }: FastifyRequest): Caller => ({ ip, userAgent: headers['user-agent'] ?? '' });

/** Registers signing in. Register it outside the scope that requires authentication: its bodies have the credentials. */
export function signInRoutes(app: App, deps: PlatformDeps): void {
  const onRequest = requireSameOrigin;
  const { pool, config } = deps;
  const describe = ({ session, isOperator }: Begun) =>
    describeSession(tenant(pool, session), shownOf({ session, isOperator }));
  const cookieOf = (request: FastifyRequest, { token }: Begun) => ({
    'set-cookie': sessionCookie(token, SESSION_SECONDS, isSecure(request)),
  });

  app.post(SESSION, {
    onRequest,
    schema: {
      tags,
      operationId: 'signIn',
      summary: 'Sign in and get a session cookie',
      description:
        'For pages of the console: requires the header `X-Heliograph-Console: 1` and the same origin (else 403). Passwords ' +
        'are checked, and failed attempts limited, as with Basic. All routes accept the cookie; with it, requests that ' +
        'may change something also need that header and the same origin. A user with a second factor gets 202 and no ' +
        'cookie yet, but a token for `POST /session/second-factor` or `POST /session/passkey`.',
      security: [],
      body: withExamples(schema.SignInBody, {
        username: 'demo',
        password: 'the password that the first start printed',
      }),
      response: { 200: SessionOut, 202: withExamples(schema.PendingOut, schema.PENDING_EXAMPLE), ...refusals },
    },
    handler: async (request, reply) => {
      const result = await signInByPassword(deps, request.body, callerOf(request));
      reply.headers({ ...result.headers });
      if ('pendingToken' in result) {
        reply.code(202);
        return { pendingToken: result.pendingToken, factors: result.factors };
      }
      reply.headers(cookieOf(request, result));
      return describe(result);
    },
  });

  app.post(`${SESSION}/second-factor`, {
    onRequest,
    schema: {
      tags,
      operationId: 'completeSignIn',
      summary: 'Complete a sign-in with a code',
      description:
        'With a code of the authenticator app, which counts once, or a recovery code. 401: the code is wrong. 404: the ' +
        'sign-in has ended, after five minutes or five tries; begin again with the password. 429: too many wrong codes.',
      security: [],
      body: withExamples(schema.CodeBody, { pendingToken: schema.TOKEN_EXAMPLE, code: '492039' }),
      response: { 200: SessionOut, ...refusals },
    },
    handler: async (request, reply) => {
      const begun = await completeByCode(deps, request.body, callerOf(request));
      reply.headers(cookieOf(request, begun));
      return describe(begun);
    },
  });

  app.post(`${SESSION}/passkey-options`, {
    onRequest,
    schema: {
      tags,
      operationId: 'beginPasskeySignIn',
      summary: 'Begin to sign in with a passkey',
      description:
        'Returns the options for `navigator.credentials.get`, valid for five minutes: with a pending token for the passkeys of ' +
        'that user, without one for any passkey on the device.',
      security: [],
      body: withExamples(schema.PasskeyOptionsBody, {}),
      response: { 200: BrowserOptions, ...refusals },
    },
    handler: async (request) => {
      const party = relyingPartyOf(request, config);
      return beginPasskeySignIn(deps, party, request.body.pendingToken, callerOf(request));
    },
  });

  app.post(`${SESSION}/passkey`, {
    onRequest,
    bodyLimit: schema.PASSKEY_BODY_BYTES,
    schema: {
      tags,
      operationId: 'signInWithPasskey',
      summary: 'Sign in with a passkey',
      description:
        'With a pending token it is the second factor; without one it stands alone, and the device must have verified its ' +
        'user. 401: the passkey is unknown or its response does not fit.',
      security: [],
      body: withExamples(schema.PasskeySignInBody, { passkey: schema.PASSKEY_EXAMPLE }),
      response: { 200: SessionOut, ...refusals },
    },
    handler: async (request, reply) => {
      const party = relyingPartyOf(request, config);
      const begun = await signInByPasskey(deps, party, request.body, callerOf(request));
      reply.headers(cookieOf(request, begun));
      return describe(begun);
    },
  });
}

/** Registers the routes by which a session proves that its user is present. */
export function stepUpRoutes(app: App, deps: PlatformDeps): void {
  const { pool, config, answers } = deps;
  const onRequest = requireCredentials();

  app.post(`${SESSION}/step-up/passkey-options`, {
    onRequest,
    schema: {
      tags,
      operationId: 'beginStepUpPasskey',
      summary: 'Start step-up authentication with a passkey',
      response: { 200: BrowserOptions },
    },
    handler: idempotentHandler({ answers }, async (request) => {
      const session = sessionOf(request.actor);
      const passkeys = await listPasskeys(tenant(pool, session), session);
      const use = { purpose: 'step-up', userId: session.userId } as const;
      return passkeyOptions(pool, relyingPartyOf(request, config), use, passkeys);
    }),
  });

  app.post(`${SESSION}/step-up`, {
    onRequest,
    schema: {
      tags,
      operationId: 'stepUp',
      summary: 'Re-authenticate (step-up)',
      description:
        'With the password, a code or a passkey. For the next ten minutes the session may do what otherwise is 403 with ' +
        'the code `step_up_required`: the operations with `x-step-up`. A sign-in counts as well. Users who sign in with ' +
        'their company can do it with `POST /session/step-up/single-sign-on`, too. Only for sessions; 403 for keys and ' +
        'passwords.',
      body: withExamples(schema.StepUpBody, { password: 'the password that the first start printed' }),
      response: { 200: SessionOut },
    },
    handler: idempotentHandler({ answers }, async (request) => {
      const { actor, ip, body } = request;
      const session = sessionOf(actor);
      await stepUp(deps, session, body, { ip, party: relyingPartyOf(request, config) });
      return describeSession(tenant(pool, actor), actor);
    }),
  });
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { assertScope, requireOperator } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { requireSameOrigin } from '../../platform/http/same-origin.ts';
import { ErrorOut, ref } from '../../platform/http/schema.ts';
import { isSecure, sessionCookie } from '../../platform/lib/session-cookie.ts';
import { endSession, signOut } from './end.ts';
import {
  AccountIn,
  toSessionEntry,
  SessionEntry,
  sessionFilters,
  SessionOut,
  SessionParams,
  SignInBody,
} from './schema.ts';
import { describeSession } from './show.ts';
import { signIn } from './sign-in.ts';
import { countSessions, listSessions, SESSION_SECONDS } from './sql.ts';
import { switchAccount } from './switch-account.ts';

const PG = '/api/partner-gateway/v1';
const ONE = `${PG}/session`;
const tags = ['Sessions'];
const Ended = { 204: Type.Null({ description: 'Ended' }) };

/** Registers signing in. Register it outside the scope that requires authentication: its body has the credentials. */
export function signInRoutes(app: App, { pool, checkPassword }: PlatformDeps): void {
  app.post(ONE, {
    onRequest: requireSameOrigin,
    schema: {
      tags,
      operationId: 'signIn',
      summary: 'Sign in and get a session cookie',
      description:
        'For pages of the console: requires the header `X-Heliograph-Console: 1` and the same origin (else 403). Passwords ' +
        'are checked, and failed attempts limited, as with Basic. All routes accept the cookie; with it, requests that ' +
        'may change something also need that header and the same origin.',
      security: [],
      body: SignInBody,
      response: { 200: SessionOut, 401: ref(ErrorOut), 403: ref(ErrorOut), 429: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { ip, body } = request;
      const { actor, headers, passwordHash } = await checkPassword(body, ip);
      reply.headers({ ...headers, 'cache-control': 'no-store' });
      const input = { ip, passwordHash, userAgent: request.headers['user-agent'] ?? '' };
      const begun = await tenantTransaction(pool, actor, (tx) => signIn(tx, actor, input));
      giveCookie(request, reply, begun.token, SESSION_SECONDS);
      return describeSession(tenant(pool, actor), begun.actor);
    },
  });
}

/** Registers the routes for sessions of signed-in users. */
export function sessionRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(ONE, {
    schema: {
      tags,
      operationId: 'findSession',
      summary: 'Get the current session: its user, account and permissions',
      description: 'Only for sessions; 403 for keys and passwords.',
      response: { 200: SessionOut },
    },
    handler: ({ actor }) => describeSession(tenant(pool, actor), actor),
  });

  app.delete(ONE, {
    schema: { tags, operationId: 'signOut', summary: 'Sign out', response: Ended },
    handler: async (request, reply) => {
      const { session } = request.actor;
      if (session) await tenantTransaction(pool, session, (tx) => signOut(tx, session));
      giveCookie(request, reply, '', 0);
      return reply.code(204).send(null);
    },
  });

  app.put(`${ONE}/account`, {
    onRequest: requireOperator(),
    schema: {
      tags,
      operationId: 'switchAccount',
      summary: 'Switch to another account, as an operator of the gateway',
      description:
        'You get the role of an owner, even in a suspended account. Its audit log records when you came and left.',
      body: AccountIn,
      response: { 200: SessionOut },
    },
    handler: async ({ actor, body }) => {
      const next = await transaction(pool, (tx) => switchAccount(tx, actor, body));
      return describeSession(tenant(pool, next), next);
    },
  });

  app.get(`${PG}/sessions`, {
    schema: {
      tags,
      operationId: 'listSessions',
      summary: 'List sessions, newest first',
      description:
        'Your own by default; with the scope `keys`, also those of other users of the account: see `userId` and `all`.',
      querystring: Type.Object({ ...pageFields, ...sessionFilters }),
      response: { 200: PageOf(SessionEntry) },
    },
    handler: async (request) => {
      const { actor, query } = request;
      const whose = { accountId: actor.accountId, userId: whoseOf(request, query) };
      const db = tenant(pool, actor);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listSessions(db, { ...whose, ...page }), countSessions(db, whose)]);
      return pageOf(
        query,
        rows.map((row) => toSessionEntry(row, actor.session?.id)),
        total,
      );
    },
  });

  app.delete(`${PG}/sessions/:id`, {
    schema: {
      tags,
      operationId: 'endSession',
      summary: 'End a session',
      description:
        'The next request of the session gets 401. With the scope `keys` you can also end sessions of other users of the ' +
        'account; only owners can end those of owners (403).',
      params: SessionParams,
      response: Ended,
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => endSession(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}

type Filter = { readonly userId?: number; readonly all: boolean };

/** Returns the user whose sessions are requested; null for all users, the default for callers who are not users. */
function whoseOf(request: Pick<FastifyRequest, 'actor' | 'method'>, { userId, all }: Filter): number | null {
  const { kind, userId: own } = request.actor;
  const whose = all ? null : (userId ?? (kind === 'user' ? own : null));
  if (kind !== 'user' || whose !== own) assertScope(request, 'keys');
  return whose;
}

const giveCookie = (request: FastifyRequest, reply: FastifyReply, token: string, maxAgeSeconds: number): void =>
  void reply.header('set-cookie', sessionCookie(token, maxAgeSeconds, isSecure(request)));

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { assertScope, requireCredentials, requireOperator } from '../../platform/http/auth.ts';
import { removalTx } from '../../platform/http/removal.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../platform/http/page.ts';
import { isSecure, sessionCookie } from '../../platform/lib/session-cookie.ts';
import { endOtherSessions, endSession, signOut } from './end.ts';
import {
  AccountIn,
  OthersEnded,
  toSessionEntry,
  SessionEntry,
  sessionFilters,
  SessionOut,
  SessionParams,
} from './schema.ts';
import { describeSession } from './show.ts';
import { assertStepUp } from './step-up.ts';
import { countSessions, listSessions } from './sql.ts';
import { switchAccount } from './switch-account.ts';
import { withExamples } from '../../platform/http/schema.ts';

const PG = '/api/partner-gateway/v1';
const ONE = `${PG}/session`;
const tags = ['Sessions'];
const Ended = { 204: Type.Null({ description: 'Ended' }) };

/** Registers the routes for sessions of signed-in users. */
export function sessionRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireCredentials();

  app.get(ONE, {
    onRequest,
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
    onRequest,
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
    config: { stepUp: { only: 'entering another account' } },
    schema: {
      tags,
      operationId: 'switchAccount',
      summary: 'Switch to another account, as an operator of the gateway',
      description:
        'You get the role of an admin, even in a suspended account. Its audit log records when you came and left.',
      body: withExamples(AccountIn, { accountId: null }),
      response: { 200: SessionOut },
    },
    handler: async ({ actor, body }) => {
      if (body.accountId !== null) assertStepUp(actor);
      const next = await transaction(pool, (tx) => switchAccount(tx, actor, body));
      return describeSession(tenant(pool, next), next);
    },
  });

  app.get(`${PG}/sessions`, {
    onRequest,
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

  app.delete(`${PG}/sessions`, {
    onRequest,
    schema: {
      tags,
      operationId: 'endOtherSessions',
      summary: 'End all your other sessions',
      description: 'Their next requests get 401. Only for sessions; 403 for keys and passwords.',
      response: { 200: OthersEnded },
    },
    handler: async ({ actor: { session } }) => {
      if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
      return { ended: await tenantTransaction(pool, session, (tx) => endOtherSessions(tx, session)) };
    },
  });

  app.delete(`${PG}/sessions/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'endSession',
      summary: 'End a session',
      description:
        'The next request of the session gets 401. With the scope `keys` you can also end sessions of other users of the ' +
        'account, unless they have rights that you lack (403).',
      params: SessionParams,
      response: Ended,
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => endSession(tx, actor, params)),
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

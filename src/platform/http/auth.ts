import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import fp from 'fastify-plugin';
import { AppError } from '../errors.ts';
import { CHANNELS, outsidePlan } from '../lib/channel.ts';
import { readCredentials } from '../lib/credentials.ts';
import type { Scope } from '../lib/scope.ts';
import type { Actor, Admitted, Authenticate } from './actor.ts';
import { foreignRefusal, isFromConsole } from './same-origin.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls. Set on every route registered beside `authentication`; nowhere else. */
    actor: Actor;
  }
}

const CHALLENGE = 'Basic realm="heliograph", charset="UTF-8"';

/**
 * Makes every route of the surrounding scope ask for credentials, before its body is read: sets `request.actor`, or
 * answers 401 (with `WWW-Authenticate`), 403, 429 or 503 as `Authenticate` says. Register it first, next to the routes.
 * Requests that are `exempt` are asked for nothing, and have no actor. With the cookie of a session, which browsers add
 * by themselves, what may change something must come from our own pages (403), and no cache keeps the answer.
 */
export const authentication = fp<{ authenticate: Authenticate; exempt?: (request: FastifyRequest) => boolean }>(
  (app, { authenticate, exempt }, ready) => {
    if (!app.hasRequestDecorator('actor')) app.decorateRequest('actor');
    app.addHook('onRequest', (request, reply, done) => {
      if (exempt?.(request)) return done();
      const bySession = readCredentials(request).kind === 'session';
      const foreign = bySession ? foreignRefusal(request) : undefined;
      if (foreign) return done(foreign);
      if (bySession) reply.header('cache-control', 'no-store');
      // A challenge would make the browser open its own dialog over our pages.
      const quiet = bySession || isFromConsole(request);
      const arrived = ({ actor, headers }: Admitted) => {
        request.actor = actor;
        reply.headers(headers);
        done();
      };
      authenticate(request).then(arrived, (error: Error) => done(quiet ? error : challenge(reply, error)));
    });
    ready();
  },
  { name: 'authentication', fastify: '5.x' },
);

function challenge(reply: FastifyReply, error: Error): Error {
  if (error instanceof AppError && error.code === 'unauthenticated') reply.header('www-authenticate', CHALLENGE);
  return error;
}

/**
 * For the route line, `onRequest: requireScope('keys')`: 403 to a caller without the scope, to one whose plan lacks the
 * channel that the scope is, and to a viewer who wants to change something. Fails closed: 401 on a route that nobody authenticated.
 */
export function requireScope(scope: Scope) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
    done(refusal(request.actor, scope, request.method));
}

/** For a handler whose body says what it touches beside its route: throws what `requireScope` answers. */
export function demandScope({ actor, method }: Pick<FastifyRequest, 'actor' | 'method'>, scope: Scope): void {
  const error = refusal(actor, scope, method);
  if (error) throw error;
}

/** For the route line: 403 to everybody but operators of the gateway. A key is never one. */
export function requireOperator() {
  return ({ actor }: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
    done(operatorRefusal(actor));
}

function operatorRefusal(actor: Actor | undefined): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  return actor.isOperator === true
    ? undefined
    : new AppError('forbidden', { message: 'Only operators of the gateway may do this' });
}

function refusal(actor: Actor | undefined, scope: Scope, method: string): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  if (!actor.operations.has(scope))
    return new AppError('forbidden', { message: `These credentials lack the scope "${scope}"` });
  const channel = CHANNELS.find((each) => each === scope);
  const message = channel && outsidePlan(actor.channels, [channel]);
  if (message) return new AppError('forbidden', { message });
  if (actor.role === 'viewer' && method !== 'GET' && method !== 'HEAD')
    return new AppError('forbidden', { message: 'The role viewer may read only' });
  return undefined;
}

import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import fp from 'fastify-plugin';
import { AppError } from '../errors.ts';
import { CHANNELS, outsidePlanMessage } from '../lib/channel.ts';
import { readCredentials } from '../lib/credentials.ts';
import type { Scope } from '../lib/scope.ts';
import type { Actor, Authenticated, Authenticate } from '../lib/actor.ts';
import { crossOriginError, isFromConsole } from './same-origin.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Set only on routes that are registered next to `authentication`. */
    actor: Actor;
  }
}

const CHALLENGE = 'Basic realm="heliograph", charset="UTF-8"';

/**
 * Requires credentials on every route of the surrounding scope, before the body is read: sets `request.actor`, or
 * answers 401 (with `WWW-Authenticate`), 403, 429 or 503 as `Authenticate` decides. Register it first, next to the
 * routes. `exempt` requests need no credentials and have no actor. Browsers send session cookies on their own, so a
 * request with one that may change something must come from our own pages (403), and its answer is never cached.
 */
export const authentication = fp<{ authenticate: Authenticate; exempt?: (request: FastifyRequest) => boolean }>(
  (app, { authenticate, exempt }, ready) => {
    if (!app.hasRequestDecorator('actor')) app.decorateRequest('actor');
    app.addHook('onRequest', (request, reply, done) => {
      if (exempt?.(request)) return done();
      const bySession = readCredentials(request).kind === 'session';
      const foreign = bySession ? crossOriginError(request) : undefined;
      if (foreign) return done(foreign);
      if (bySession) reply.header('cache-control', 'no-store');
      // A challenge would make the browser open its own sign-in dialog over our pages.
      const quiet = bySession || isFromConsole(request);
      const arrived = ({ actor, headers }: Authenticated) => {
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
 * Returns a hook for the route line, as in `onRequest: requireScope('keys')`. It answers 403 if the caller lacks the
 * scope, if the scope is a channel that the caller's plan does not include, and if a viewer wants to change something.
 * It fails closed: 401 on a route without authentication.
 */
export function requireScope(scope: Scope) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
    done(scopeError(request.actor, scope, request.method));
}

/** Throws what `requireScope` would answer, for a handler that needs a further scope depending on the request. */
export function assertScope({ actor, method }: Pick<FastifyRequest, 'actor' | 'method'>, scope: Scope): void {
  const error = scopeError(actor, scope, method);
  if (error) throw error;
}

/**
 * Returns a hook for the route line that answers 403 to everyone but operators of the gateway. Keys are never
 * operators.
 */
export function requireOperator() {
  return ({ actor }: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
    done(operatorError(actor));
}

function operatorError(actor: Actor | undefined): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  return actor.isOperator === true
    ? undefined
    : new AppError('forbidden', { message: 'Only operators of the gateway may do this' });
}

function scopeError(actor: Actor | undefined, scope: Scope, method: string): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  if (!actor.operations.has(scope))
    return new AppError('forbidden', { message: `These credentials lack the scope "${scope}"` });
  const channel = CHANNELS.find((each) => each === scope);
  const message = channel && outsidePlanMessage(actor.channels, [channel]);
  if (message) return new AppError('forbidden', { message });
  if (actor.role === 'viewer' && method !== 'GET' && method !== 'HEAD')
    return new AppError('forbidden', { message: 'The role viewer is read-only' });
  return undefined;
}

import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import fp from 'fastify-plugin';
import { AppError } from '../errors.ts';
import { CHANNELS, outsidePlanMessage } from '../lib/channel.ts';
import { readCredentials } from '../lib/credentials.ts';
import { type Access, mayAccess, roleMay, type Scope } from '../lib/scope.ts';
import type { Actor, Authenticated, Authenticate } from '../lib/actor.ts';
import { crossOriginError, isFromBrowser } from './same-origin.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Set only on routes that are registered next to `authentication`. */
    actor: Actor;
  }
}

const CHALLENGE = 'Basic realm="heliograph", charset="UTF-8"';

/**
 * Requires credentials on every route of the surrounding scope, before the body is read: sets `request.actor`, or
 * returns 401 (to programs with `WWW-Authenticate`), 403, 429 or 503 as `Authenticate` decides. Register it first, next
 * to the routes. `exempt` requests need no credentials and have no actor. Browsers send session cookies on their own,
 * so a request with one that may change something must come from our own pages (403).
 */
export const authentication = fp<{ authenticate: Authenticate; exempt?: (request: FastifyRequest) => boolean }>(
  (app, { authenticate, exempt }, ready) => {
    if (!app.hasRequestDecorator('actor')) app.decorateRequest('actor');
    app.addHook('onRequest', (request, reply, done) => {
      if (exempt?.(request)) return done();
      const bySession = readCredentials(request).kind === 'session';
      const foreign = bySession ? crossOriginError(request) : undefined;
      if (foreign) return done(foreign);
      const quiet = bySession || isFromBrowser(request);
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
 * Requirement of a route: at least one of some scopes, any credentials, or an operator of the gateway. The hooks below
 * carry it, so that the API description can state it.
 */
export type Requirement =
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[]; readonly access: Access | 'by method' }
  | { readonly kind: 'credentials' }
  | { readonly kind: 'operator' };

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

const REQUIREMENTS = new WeakMap<object, Requirement>();

function hookFor(requirement: Requirement, check: (request: FastifyRequest) => AppError | undefined): Hook {
  const hook: Hook = (request, _reply, done) => done(check(request));
  REQUIREMENTS.set(hook, requirement);
  return hook;
}

/** Returns the requirements of a route's hooks: all of them. Hooks that check something else are excluded. */
export const requirementsOf = (hooks: unknown): Requirement[] =>
  [hooks].flat().flatMap((hook) => (typeof hook === 'function' ? (REQUIREMENTS.get(hook) ?? []) : []));

/** Returns the access that an HTTP method needs within the scope of its route: GET and HEAD read, all others write. */
export const accessOf = (method: string): Access => (method === 'GET' || method === 'HEAD' ? 'read' : 'write');

/**
 * Returns a hook for the route line, as in `onRequest: requireScope('keys')`. It returns 403 if the caller lacks the
 * scope, if the scope is a channel that the caller's plan does not include, and if the caller's role does not allow the
 * access: that of the method, unless the route names one, because a POST that only searches is a read. A route that
 * needs several scopes has several hooks. It fails closed: 401 on a route without authentication.
 */
export function requireScope(scope: Scope, access?: Access): Hook {
  return hookFor({ kind: 'scopes', scopes: [scope], access: access ?? 'by method' }, ({ actor, method }) =>
    scopeError(actor, scope, access ?? accessOf(method)),
  );
}

/**
 * Returns a hook that returns 403 to callers who have none of these scopes with this access. The handler asks for the
 * one that the request needs, as with `assertScope`. Requests that `exempt` names need no credentials: they have
 * others, such as a signed link.
 */
export function requireAnyScope(
  scopes: readonly Scope[],
  access: Access,
  exempt?: (request: FastifyRequest) => boolean,
): Hook {
  return hookFor({ kind: 'scopes', scopes, access }, (request) => {
    const { actor } = request;
    if (exempt?.(request)) return undefined;
    if (!actor) return new AppError('unauthenticated');
    if (scopes.some((scope) => mayAccess(actor, scope, access))) return undefined;
    return new AppError('forbidden', {
      message: `These credentials lack the scopes ${scopes.map((scope) => `"${scope}"`).join(', ')}`,
    });
  });
}

/**
 * Returns a hook for a route that any credentials may use: it shows or changes only what belongs to the caller itself.
 * It fails closed: 401 on a route without authentication.
 */
export function requireCredentials(): Hook {
  return hookFor({ kind: 'credentials' }, ({ actor }) => (actor ? undefined : new AppError('unauthenticated')));
}

/**
 * Throws the error that `requireScope` would return, for a handler that needs a further scope depending on the request.
 * The access is that of the method, unless the handler names one.
 */
export function assertScope(
  { actor, method }: Pick<FastifyRequest, 'actor' | 'method'>,
  scope: Scope,
  access: Access = accessOf(method),
): void {
  const error = scopeError(actor, scope, access);
  if (error) throw error;
}

/**
 * Returns a hook for the route line that returns 403 to everyone except operators of the gateway. Keys are never
 * operators.
 */
export function requireOperator(): Hook {
  return hookFor({ kind: 'operator' }, ({ actor }) => operatorError(actor));
}

function operatorError(actor: Actor | undefined): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  return actor.isOperator === true
    ? undefined
    : new AppError('forbidden', { message: 'Only operators of the gateway may do this' });
}

function scopeError(actor: Actor | undefined, scope: Scope, access: Access): AppError | undefined {
  if (!actor) return new AppError('unauthenticated');
  if (!actor.operations.has(scope))
    return new AppError('forbidden', { message: `These credentials lack the scope "${scope}"` });
  const channel = CHANNELS.find((each) => each === scope);
  const message = channel && outsidePlanMessage(actor.channels, [channel]);
  if (message) return new AppError('forbidden', { message });
  if (!roleMay(actor.role, scope, access))
    return new AppError('forbidden', { message: `The role ${actor.role} may only read within the scope "${scope}"` });
  return undefined;
}

import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import {
  type Access,
  type Actor,
  type Authenticate,
  type Authenticated,
  mayAccess,
  ROLES,
  type Role,
  roleMay,
  type Scope,
} from '../actor.ts';
import { CHANNELS, outsidePlanMessage } from '../channels.ts';
import type { Named } from '../cli-operations.ts';
import { AppError } from '../errors.ts';
import { readCredentials } from '../secrets.ts';
import type { App } from './app.ts';
import { crossOriginError, isFromBrowser } from './browser.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Set only on routes that are registered next to `authentication`. */
    actor: Actor;
  }
}

/** The value of `WWW-Authenticate` for programs. */
export const CHALLENGE = 'Basic realm="heliograph", charset="UTF-8"';

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
type Requirement =
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
const requirementsOf = (hooks: unknown): Requirement[] =>
  [hooks].flat().flatMap((hook) => (typeof hook === 'function' ? (REQUIREMENTS.get(hook) ?? []) : []));

/** Returns the access that an HTTP method needs within the scope of its route: GET and HEAD read, all others write. */
const accessOf = (method: string): Access => (method === 'GET' || method === 'HEAD' ? 'read' : 'write');

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

/** Returns the error of a caller who lacks a scope, this access to it, or its channel; undefined if there is none. */
export function scopeError(actor: Actor | undefined, scope: Scope, access: Access): AppError | undefined {
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

/**
 * Step-up rule of a route: true if sessions must have proven within the last ten minutes that their user is there (a
 * browser left open, or a stolen cookie, is not enough). `only` names the affected requests, as in "exports of all
 * contacts"; then the operation itself requires it. `exempt` states why a change by operators, or of keys, users or
 * webhooks, needs none.
 */
export type StepUp = true | { readonly only: string } | { readonly exempt: string };

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The commands of the operation, or the reason why it has none. Without it, the operation is a command of the group
     * `call`, by its operation id.
     */
    command?: Named | readonly Named[] | { readonly none: string };
    stepUp?: StepUp;
  }
}

/** Scopes with which a thief could keep access, or receive messages, after the cookie has ended. */
const LASTING: ReadonlySet<Scope> = new Set(['keys', 'webhooks']);

/**
 * Makes a step-up the default of every route by which an operator of the gateway changes something, and of those that
 * write within the scopes `keys` (keys, SMPP credentials, users, security) and `webhooks` (everything that is
 * forwarded). A route with its own `config.stepUp` keeps it. Call it before the routes are registered.
 */
export function stepUpByDefault(app: App): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.stepUp === undefined && isDangerous(route)) route.config = { ...route.config, stepUp: true };
  });
}

function isDangerous({ method, onRequest }: RouteOptions): boolean {
  const byMethod = [method].flat().some((each) => accessOf(each) === 'write') ? 'write' : 'read';
  return requirementsOf(onRequest).some((requirement) => {
    if (requirement.kind === 'credentials') return false;
    if (requirement.kind === 'operator') return byMethod === 'write';
    const { scopes, access } = requirement;
    return (access === 'by method' ? byMethod : access) === 'write' && scopes.some((scope) => LASTING.has(scope));
  });
}

export const isExempt = (stepUp: StepUp): stepUp is { readonly exempt: string } =>
  typeof stepUp === 'object' && 'exempt' in stepUp;

/** The parts of a route that define its access rules. */
type AccessRoute = {
  readonly method: string | string[];
  readonly onRequest?: unknown;
  readonly schema?: { readonly security?: readonly object[] } | undefined;
  readonly config?: { readonly stepUp?: StepUp } | undefined;
};

type RouteAccess = {
  /**
   * Requirements of the caller: everything in the list. Entries are `contacts:read` (a scope and the access within it),
   * `SMS:read or RCS:read` (one of them), `credentials` (any) and `operator` (of the gateway). It is empty if the route
   * needs no credentials.
   */
  readonly scope: readonly string[];
  /** The roles of users that have all of these; none for routes of operators, which require no role. */
  readonly roles: readonly Role[];
  /** Rule of the route for step-ups of sessions. */
  readonly stepUp: StepUp | undefined;
  /** The same in a few sentences, for readers. */
  readonly text: string;
};

/**
 * Returns the access rules of a route, as its `onRequest` hooks define them. Undefined without such hooks, which is a
 * bug.
 */
export function accessToRoute({ method, onRequest, schema, config }: AccessRoute): RouteAccess | undefined {
  if (schema?.security?.length === 0) return { scope: [], roles: [], stepUp: undefined, text: 'Needs no credentials.' };
  const byMethod = accessOf(String([method].flat()[0]));
  const needs = requirementsOf(onRequest).map((requirement) => toNeed(requirement, byMethod));
  if (needs.length === 0) return undefined;
  const scope = needs.map(({ name }) => name);
  const roles = ROLES.filter((role) => needs.every(({ holds }) => holds(role)));
  const stepUp = config?.stepUp;
  return { scope, roles, stepUp, text: `${describe(needs, roles)}${describeStepUp(stepUp)}` };
}

type Need = { readonly name: string; readonly text: string | null; holds(role: Role): boolean };

function toNeed(requirement: Requirement, byMethod: Access): Need {
  if (requirement.kind === 'operator') return { name: 'operator', text: null, holds: () => false };
  if (requirement.kind === 'credentials') return { name: 'credentials', text: null, holds: () => true };
  const { scopes } = requirement;
  const access = requirement.access === 'by method' ? byMethod : requirement.access;
  return {
    name: scopes.map((scope) => `${scope}:${access}`).join(' or '),
    text: scopes.map((scope) => `\`${scope}\` (${access})`).join(' or '),
    holds: (role) => scopes.some((scope) => roleMay(role, scope, access)),
  };
}

function describe(needs: readonly Need[], roles: readonly Role[]): string {
  if (needs.some(({ name }) => name === 'operator')) return 'For operators of the gateway.';
  const scopes = needs.flatMap(({ text }) => text ?? []);
  return scopes.length === 0
    ? 'Needs any credentials.'
    : `Scope: ${scopes.join(', and ')}. Roles: ${roles.join(', ')}.`;
}

function describeStepUp(stepUp: StepUp | undefined): string {
  if (stepUp === undefined || isExempt(stepUp)) return '';
  return ` Sessions need a step-up${stepUp === true ? '' : ` for ${stepUp.only}`}.`;
}

import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AppError } from '../../errors.ts';
import { networkOf } from '../../lib/address.ts';
import { createRateLimiter, type Rate } from '../../lib/limits/rate-limit.ts';
import type { App } from '../app.ts';
import type { Refusal } from './refusals.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * True if unauthenticated clients may call the route: only the request itself can prove who they are. Set for every
     * route that takes a body without credentials. The response to such a request names only its first error, its body
     * has a small share of the memory, and its failures count against its address.
     */
    stranger?: boolean;
    /**
     * Returns true if the caller of such a route has proven itself before, from this address. Its failures do not lock
     * it out.
     */
    isKnownCaller?: (request: FastifyRequest) => boolean;
  }
  interface FastifyRequest {
    /** True if a failure of this request counts against its address. */
    countsFailure: boolean;
  }
}

/**
 * Maximum size of a body on a route that needs no credentials, unless it sets its own `bodyLimit`: enough for a name, a
 * password and a token.
 */
export const DOOR_BODY_BYTES = 4096;

/** Failures at one route from one address. All of them may happen in one second. */
const RATE: Rate = { perMinute: 120, perSecond: 120 };

/**
 * The statuses that count as failures. A 401 that names a limit was counted by that limit, which distinguishes users
 * (src/identity/users/login-limits.ts).
 */
const FAILURES: ReadonlySet<number> = new Set([400, 401, 403, 404, 408, 413, 415]);

/**
 * Marks every route that takes a body without credentials as one for unauthenticated clients, and limits that body.
 * Call it before the routes are registered.
 */
export function guardDoors(app: App): void {
  app.addHook('onRoute', (route) => {
    if (!isDoor(route)) return;
    route.bodyLimit ??= DOOR_BODY_BYTES;
    route.config = { stranger: true, ...route.config };
  });
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns true if a route needs no credentials, and may have a body. */
function isDoor({ method, schema }: RouteOptions): boolean {
  const security: unknown = schema && 'security' in schema ? schema.security : undefined;
  return Array.isArray(security) && security.length === 0 && ![method].flat().every((each) => SAFE.has(each));
}

/** Returns true if the caller has proven its identity, with this request or before. */
export const isKnownCaller = (request: FastifyRequest): boolean =>
  ('actor' in request && request.actor !== undefined) || request.routeOptions.config.isKnownCaller?.(request) === true;

/**
 * Limits the failures of an address at each route for unauthenticated clients: 120 a minute. Beyond that it gets 429
 * before its body is read. Each process counts for itself, because the limit protects its time and memory. Routes with
 * authentication are not affected, so an unauthenticated client behind the same address cannot stop a customer.
 * Register it after everything that rejects requests that a foreign web page can make a browser send: they would lock
 * out the visitors of that page.
 */
export function limitFailures(app: App, count: (bound: Refusal) => void): void {
  const limiter = createRateLimiter();
  app.decorateRequest('countsFailure', false);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.stranger !== true) return done();
    const verdict = limiter.peek(nameOf(request), RATE);
    if (verdict.allowed || isKnownCaller(request)) {
      request.countsFailure = true;
      return done();
    }
    count('failures_of_address');
    const { retryAfterSeconds } = verdict;
    done(new AppError('rate_limited', { message: 'Too many failed requests from your address', retryAfterSeconds }));
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.countsFailure && isFailure(reply)) limiter.take(nameOf(request), RATE);
    done();
  });
}

const nameOf = ({ routeOptions, ip }: FastifyRequest): string => `${routeOptions.url} ${networkOf(ip)}`;

const isFailure = (reply: FastifyReply): boolean =>
  FAILURES.has(reply.statusCode) && !(reply.statusCode === 401 && reply.hasHeader('x-ratelimit-limit'));

import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { requestFields, routeOf } from './request-id.ts';

/**
 * Creates an onResponse hook that records the duration of every request and logs it (at debug level below status 400).
 */
export function observeRequests(log: AppLog, { httpSeconds }: Metrics) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const [route, status, ms] = [routeOf(request), reply.statusCode, reply.elapsedTime];
    httpSeconds.observe({ method: request.method, route, status }, ms / 1000);
    const level = status < 400 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](logFields(request, status, ms), 'request');
    done();
  };
}

const logFields = (request: FastifyRequest, status: number, ms: number) => ({
  ...requestFields(request),
  status,
  ms: Math.round(ms * 10) / 10,
  // Undefined on routes without authentication, despite the type.
  accountId: 'actor' in request ? request.actor?.accountId : undefined,
});

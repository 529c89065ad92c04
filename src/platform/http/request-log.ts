import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { clientRequestId, routeOf } from './request-id.ts';

/** An onResponse hook: the duration of every request into the histogram, and a line into the log (below 400: debug). */
export function observeRequests(log: AppLog, { httpSeconds }: Metrics) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const [route, status, ms] = [routeOf(request), reply.statusCode, reply.elapsedTime];
    httpSeconds.observe({ method: request.method, route, status }, ms / 1000);
    const level = status < 400 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](lineOf(request, route, status, ms), 'request');
    done();
  };
}

const lineOf = (request: FastifyRequest, route: string, status: number, ms: number) => ({
  requestId: request.id,
  clientRequestId: clientRequestId(request),
  method: request.method,
  route,
  status,
  ms: Math.round(ms * 10) / 10,
  // Undefined where nobody was asked for credentials, whatever the type says.
  accountId: 'actor' in request ? request.actor?.accountId : undefined,
});

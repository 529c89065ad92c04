import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { AppLog } from '../log.ts';
import type { Pages } from './console.ts';
import type { App } from './app.ts';
import { errorForm } from './error-body.ts';
import { asAppError } from './failure.ts';
import { clientRequestId, routeOf } from './request-id.ts';
import { invalidInput, isInputError } from './validation.ts';

/** Every failure of a request ends here: thrown, rejected, refused by a schema or by the framework. */
export function answerErrors(
  app: App,
  log: AppLog,
  allowedMethods: (path: string) => readonly string[],
  pages?: Pages,
): void {
  app.setErrorHandler(async (error, request, reply) => {
    const failure = isInputError(error) ? await invalidInput(request).catch(asAppError) : asAppError(error);
    if (failure.status >= 500) logFailure(log, request, failure);
    return sendFailure(request, reply, failure);
  });
  app.setNotFoundHandler((request, reply) =>
    pages?.takes(request) ? pages.send(reply) : sendFailure(request, reply, noRoute(request, reply, allowedMethods)),
  );
}

/** 405 with Allow when the path exists with other methods alone, else 404: a file that is not there has its own. */
export function noRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedMethods: (path: string) => readonly string[],
): AppError {
  const methods = allowedMethods(request.url.split('?', 1)[0] ?? '/');
  if (methods.length === 0 || methods.includes(request.method)) return new AppError('not_found');
  reply.header('allow', methods.join(', '));
  return new AppError('method_not_allowed');
}

/**
 * Writes the failure in the form of its interface. As text, so that a route's own response schemas (which describe
 * its answers) cannot reshape it.
 */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, failure: AppError): FastifyReply {
  // Fastify closes after a body that it refused. Closing on a body that is still coming resets the connection, and
  // the client sees a broken pipe in place of this answer; so the rest is read and thrown away instead.
  reply.removeHeader('connection');
  if (failure.headers !== undefined) reply.headers(failure.headers);
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', Math.ceil(failure.retryAfterSeconds));
  return reply
    .code(failure.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorForm(request.url)(failure, request.id)));
}

function logFailure(log: AppLog, request: FastifyRequest, failure: AppError): void {
  log.error(
    {
      requestId: request.id,
      clientRequestId: clientRequestId(request),
      method: request.method,
      route: routeOf(request),
      status: failure.status,
      err: failure.cause ?? failure,
    },
    'request failed',
  );
}

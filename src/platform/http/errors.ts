import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { AppLog } from '../log.ts';
import { NOT_STORED } from './admission.ts';
import type { Pages } from './console.ts';
import type { App } from './app.ts';
import { errorForm } from './error-body.ts';
import { asAppError } from './failure.ts';
import { requestFields } from './request-id.ts';
import { invalidInput, isInputError } from './validation/validation.ts';

/**
 * Registers the handlers of all errors: thrown, rejected, found by a schema or by the framework, and unknown routes.
 */
export function registerErrorHandlers(
  app: App,
  log: AppLog,
  allowedMethods: (path: string) => readonly string[],
  pages?: Pages,
): void {
  app.setErrorHandler(async (error, request, reply) => {
    const failure = isInputError(error) ? await invalidInput(request).catch(asAppError) : asAppError(error);
    if (failure.status >= 500 && !isRefusal(failure)) logError(log, request, failure);
    return sendError(request, reply, failure);
  });
  app.setNotFoundHandler((request, reply) =>
    pages?.handles(request)
      ? pages.send(reply)
      : sendError(request, reply, unknownRouteError(request, reply, allowedMethods)),
  );
}

/**
 * Returns true if we reject the request because of our own limits: not a fault, and unauthenticated clients could fill
 * the log with it.
 */
const isRefusal = ({ code, cause, retryAfterSeconds }: AppError): boolean =>
  code === 'unavailable' && cause === undefined && retryAfterSeconds !== undefined;

/** Returns 405 (and sets Allow) if the path exists with other methods only, else 404. */
export function unknownRouteError(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedMethods: (path: string) => readonly string[],
): AppError {
  const methods = allowedMethods(request.url.split('?', 1)[0] ?? '/');
  if (methods.length === 0 || methods.includes(request.method))
    return new AppError('not_found', { message: 'No such endpoint' });
  reply.header('allow', methods.join(', '));
  return new AppError('method_not_allowed');
}

/**
 * Sends an error in the format of the requested URL. It is sent as text, so that the route's own response schemas
 * cannot reshape it.
 */
export function sendError(request: FastifyRequest, reply: FastifyReply, failure: AppError): FastifyReply {
  // Fastify closes the connection after a body that it rejected. Closing while the body is still arriving resets the
  // connection, and the client sees a broken pipe instead of this response; so the rest is read and discarded.
  reply.removeHeader('connection');
  // The route may have allowed caches to store its own response, which is not this one.
  reply.header('cache-control', NOT_STORED);
  if (failure.headers !== undefined) reply.headers(failure.headers);
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', Math.ceil(failure.retryAfterSeconds));
  return reply
    .code(failure.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorForm(request.url)(failure, request.id)));
}

function logError(log: AppLog, request: FastifyRequest, failure: AppError): void {
  log.error(
    {
      ...requestFields(request),
      status: failure.status,
      err: failure.cause ?? failure,
    },
    'request failed',
  );
}

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Db } from '../db/query.ts';
import type { Reports } from '../db/reports.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { newId } from '../ids.ts';
import { type AppLog, isLostConnection, textOf } from '../log.ts';
import { NOT_STORED } from './admission.ts';
import { type App, requestFields } from './app.ts';
import type { Pages } from './pages.ts';
import { invalidInput, isInputError } from './validation.ts';

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
export const isRefusal = ({ code, cause, retryAfterSeconds }: AppError): boolean =>
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

type Failure = Pick<AppError, 'message'> & { readonly status: number } & Partial<AppError>;
type ErrorForm = (failure: Failure, requestId: string) => Record<string, unknown>;

/** The errors that a program handles by doing something else first: their bodies have a `code`. */
const SHOWN_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'step_up_required',
  'second_factor_required',
  'verification_blocked',
  'challenge_required',
  'no_open_verification',
  'already_used',
  'resend_too_soon',
  'too_many_codes',
  'number_locked',
  'cost_cap',
]);

/** The whole seconds after which to retry. */
const retryAfterOf = ({ retryAfterSeconds }: Failure): number | undefined =>
  retryAfterSeconds && Math.ceil(retryAfterSeconds);

/** The standard error body: `details` names invalid fields, `retryAfter` is the delay before a retry in seconds. */
export const standardError: ErrorForm = (failure, requestId) => ({
  status: failure.status,
  error: STATUS_CODES[failure.status] ?? 'Error',
  message: failure.message,
  requestId,
  code: failure.code !== undefined && SHOWN_CODES.has(failure.code) ? failure.code : undefined,
  details: failure.details,
  retryAfter: retryAfterOf(failure),
  ...failure.fields,
});

/**
 * The error body of the wholesale API: `code` is the HTTP status.
 */
const wholesaleError: ErrorForm = (failure, requestId) => ({
  status: 'error',
  message: failure.message,
  code: failure.status,
  requestId,
  retryAfter: retryAfterOf(failure),
});

/** URL prefixes with another error body than the standard one. */
const FORMS: readonly (readonly [prefix: string, form: ErrorForm])[] = [['/services/', wholesaleError]];

/**
 * Returns the error body of a canonical URL. It depends on the URL alone, so that unknown routes get the same as
 * others.
 */
const errorForm = (url: string): ErrorForm => FORMS.find(([prefix]) => url.startsWith(prefix))?.[1] ?? standardError;

const FAULTS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The request is too large'],
};
const MALFORMED = [400, 'The request is not valid HTTP'] as const;
/** A client that has read its response closes the connection; one that does not would keep it open forever. */
const LINGER_MS = 2000;

/** Reason why a connection ends in the middle of a request: the response to its client, and the code in the log. */
type EndReason = {
  readonly status: number;
  readonly message: string;
  readonly code: string;
  readonly retryAfterSeconds?: number;
};

/**
 * Responds to a request whose body has not arrived, unless a response has started already, and closes the connection.
 */
export type EndConnection = (socket: Socket, reason: EndReason) => void;

/**
 * Responds to requests that are not valid HTTP, or do not arrive in time, with the standard error body and a request
 * id, then closes the connection. It only closes it if the peer is gone or a response has already started.
 */
export const answerClientErrors =
  (end: EndConnection) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    const [status, message] = FAULTS[error.code ?? ''] ?? MALFORMED;
    end(socket, { status, message, code: error.code ?? '' });
  };

/** Creates the function that ends a connection with its own response, bypassing the router. */
export const createEndConnection =
  (log: AppLog): EndConnection =>
  (socket, { code, ...failure }) => {
    if (!socket.writable || hasStartedAnswer(socket)) return void socket.destroy();
    const requestId = newId();
    log.info({ requestId, status: failure.status, code }, 'malformed request');
    socket.end(response(failure, requestId));
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

/**
 * Returns true if a response has started. Node keeps the one in progress in this private property; its own handler of
 * such errors reads it too.
 */
function hasStartedAnswer(socket: Socket): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return typeof message === 'object' && message !== null && Reflect.get(message, 'headersSent') === true;
}

function response(failure: Omit<EndReason, 'code'>, requestId: string): string {
  const { status, retryAfterSeconds } = failure;
  const body = JSON.stringify(standardError(failure, requestId));
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Cache-Control: ${NOT_STORED}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** Errors of the framework that mean something more specific than their HTTP status. */
const BY_CODE: Readonly<Record<string, readonly [code: ErrorCode, message?: string]>> = {
  FST_ERR_BAD_URL: ['invalid', 'The URL is not valid'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid', 'The length of the body does not match Content-Length'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['malformed_json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_HANDLER_TIMEOUT: ['unavailable'],
  // An id longer than any of ours does not exist.
  FST_ERR_MAX_PARAM_LENGTH: ['not_found'],
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'unavailable',
};

/**
 * PostgreSQL error codes for a full database or a cancelled statement: not the caller's fault, and a retry may succeed.
 * Classes 53 (resources), shutdown and cancel (57), serialization failure and deadlock (40), idle-in-transaction
 * timeout (25P03).
 */
const DATABASE_UNAVAILABLE = /^(53...|57...|40001|40P01|25P03)$/;

const RETRY_AFTER_SECONDS = 2;

/**
 * Turns any thrown value into an AppError. An AppError is returned as it is; client errors of the framework and of
 * other libraries get the table entry of their status; an unreachable database is `unavailable` (503); everything else
 * is `internal` (500). The original is the `cause`, whose text is never sent to clients.
 */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = textOf(error, 'code');
  const [known, message] = BY_CODE[code] ?? [clientError(error)];
  if (known !== undefined) return new AppError(known, { cause: error, ...(message && { message }) });
  if (isLostConnection(error) || DATABASE_UNAVAILABLE.test(code)) {
    return new AppError('unavailable', { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  return new AppError('internal', { cause: error });
}

/** Returns the error code for the HTTP status that Fastify and its plugins put on their errors. */
function clientError(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return undefined;
  const { statusCode } = error;
  return BY_STATUS[statusCode] ?? (statusCode >= 400 && statusCode < 500 ? 'invalid' : undefined);
}

type Caller = {
  readonly reports: Reports;
  readonly actor: { readonly accountId: number };
  readonly reply: FastifyReply;
};

/** Description shared by every route that uses `readReport`. */
export const AGE_OF_REPORT =
  'If `DATABASE_URL_READ` is set, this may be read from a standby; the header `X-Data-Age` then states how many seconds ' +
  'old it is at most.';

/** Reads a report (see `Reports`) for a request, and states its maximum age in `X-Data-Age` if it is not up to date. */
export async function readReport<T>({ reports, actor, reply }: Caller, work: (db: Db) => Promise<T>): Promise<T> {
  const { value, ageMs } = await reports.read(actor, work);
  if (ageMs !== undefined) reply.header('x-data-age', (ageMs / 1000).toFixed(3));
  return value;
}

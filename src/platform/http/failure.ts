import { isAway } from '../db/away.ts';
import { accountAway, AppError, type ErrorCode } from '../errors.ts';

/** Errors of the framework that mean something more specific than their HTTP status. */
const BY_CODE: Readonly<Record<string, readonly [code: ErrorCode, message?: string]>> = {
  FST_ERR_BAD_URL: ['invalid', 'The URL is not valid'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid', 'The length of the body does not match Content-Length'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['malformed_json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_HANDLER_TIMEOUT: ['unavailable'],
  // An id that is longer than any of ours does not exist.
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
 * The database cannot be reached, is starting or stopping, is full, or cancelled a statement: not the caller's fault,
 * and a retry may succeed. Classes 08 (connection) and 53 (resources), admin shutdown and cancel (57), serialization
 * failure and deadlock (40), idle-in-transaction timeout (25P03), and socket errors.
 */
const DATABASE_UNAVAILABLE = /^(08...|53...|57...|40001|40P01|25P03)$/;
const SOCKET_UNAVAILABLE: ReadonlySet<string> = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(' '),
);
/** pg and its pool report these without a code; the last one, when the program ends before an upload does. */
const POOL_UNAVAILABLE =
  /timeout exceeded when trying to connect|Connection terminated|not queryable|Query read timeout|after calling end/i;

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
  if (isAway(error)) return accountAway();
  if (isDatabaseUnavailable(error, code)) {
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

function isDatabaseUnavailable(error: unknown, code: string): boolean {
  // A host name with several addresses fails with one AggregateError for all of them.
  if (error instanceof AggregateError)
    return error.errors.some((each) => isDatabaseUnavailable(each, textOf(each, 'code')));
  return (
    DATABASE_UNAVAILABLE.test(code) || SOCKET_UNAVAILABLE.has(code) || POOL_UNAVAILABLE.test(textOf(error, 'message'))
  );
}

function textOf(error: unknown, key: 'code' | 'message'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}

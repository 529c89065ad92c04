import { AppError, type ErrorCode } from '../errors.ts';

/** Errors of the framework that mean something more exact than their HTTP status. */
const BY_CODE: Readonly<Record<string, readonly [code: ErrorCode, message?: string]>> = {
  FST_ERR_BAD_URL: ['invalid', 'The URL is not valid'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid', 'The body is not as long as Content-Length says'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['malformed_json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_HANDLER_TIMEOUT: ['unavailable'],
  // An id longer than any of ours is an id that does not exist.
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
 * The database cannot be reached, is starting or stopping, is full, or gave up a statement: nothing that the caller
 * did, and it may work a moment later. Classes 08 (connection) and 53 (resources), admin shutdown and cancel (57),
 * serialization failure and deadlock (40), idle-in-transaction timeout (25P03), and the errors of the socket.
 */
const DATABASE_AWAY = /^(08...|53...|57...|40001|40P01|25P03)$/;
const SOCKET_AWAY: ReadonlySet<string> = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(' '),
);
/** pg and its pool report these without a code. */
const POOL_AWAY = /timeout exceeded when trying to connect|Connection terminated|not queryable|Query read timeout/i;

const RETRY_AFTER_SECONDS = 2;

/**
 * Any thrown value as an error with a public face. An AppError is returned as it is, the framework's own and other
 * libraries' client errors get the entry of the table with their status, a database that is away is `unavailable`
 * (503), and all else is `internal` (500). The original is the `cause`; its text stays inside.
 */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = textOf(error, 'code');
  const [known, message] = BY_CODE[code] ?? [clientError(error)];
  if (known !== undefined) return new AppError(known, { cause: error, ...(message && { message }) });
  if (isDatabaseAway(error, code)) {
    return new AppError('unavailable', { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  return new AppError('internal', { cause: error });
}

/** By the HTTP status that Fastify and its plugins put on their errors. */
function clientError(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return undefined;
  const { statusCode } = error;
  return BY_STATUS[statusCode] ?? (statusCode >= 400 && statusCode < 500 ? 'invalid' : undefined);
}

function isDatabaseAway(error: unknown, code: string): boolean {
  // A host name with several addresses fails with one error for all of them.
  if (error instanceof AggregateError) return error.errors.some((each) => isDatabaseAway(each, textOf(each, 'code')));
  return DATABASE_AWAY.test(code) || SOCKET_AWAY.has(code) || POOL_AWAY.test(textOf(error, 'message'));
}

function textOf(error: unknown, key: 'code' | 'message'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}

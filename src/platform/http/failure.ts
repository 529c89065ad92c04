import { AppError, type ErrorCode } from '../errors.ts';
import { isLostConnection, textOf } from '../lib/lost-connection.ts';

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

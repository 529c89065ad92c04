import { STATUS_CODES } from 'node:http';
import type { AppError, ErrorCode } from '../errors.ts';

type Failure = Pick<AppError, 'message'> & { readonly status: number } & Partial<AppError>;
type ErrorForm = (failure: Failure, requestId: string) => Record<string, unknown>;

/** The errors that a program handles by doing something else first: their bodies have a `code`. */
const SHOWN_CODES: ReadonlySet<string> = new Set<ErrorCode>(['step_up_required', 'second_factor_required']);

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
export const errorForm = (url: string): ErrorForm =>
  FORMS.find(([prefix]) => url.startsWith(prefix))?.[1] ?? standardError;

import { STATUS_CODES } from 'node:http';
import type { AppError } from '../errors.ts';

type Failure = Pick<AppError, 'message'> & { readonly status: number } & Partial<AppError>;
type ErrorForm = (failure: Failure, requestId: string) => Record<string, unknown>;

/** The standard error body (contract 1): `details` names invalid fields, `retryAfter` (seconds) says when to retry. */
export const standardError: ErrorForm = (failure, requestId) => ({
  status: failure.status,
  error: STATUS_CODES[failure.status] ?? 'Error',
  message: failure.message,
  requestId,
  details: failure.details,
  retryAfter: failure.retryAfterSeconds && Math.ceil(failure.retryAfterSeconds),
});

/**
 * The error body of the wholesale API (contract 7): `code` is the HTTP status. The request id is only in the header.
 */
const wholesaleError: ErrorForm = (failure) => ({ status: 'error', message: failure.message, code: failure.status });

/** URL prefixes with another error body than the standard one. */
const FORMS: readonly (readonly [prefix: string, form: ErrorForm])[] = [['/services/', wholesaleError]];

/**
 * Returns the error body of a canonical URL. It depends on the URL alone, so that unknown routes answer like others.
 */
export const errorForm = (url: string): ErrorForm =>
  FORMS.find(([prefix]) => url.startsWith(prefix))?.[1] ?? standardError;

import { STATUS_CODES } from 'node:http';
import type { AppError } from '../errors.ts';

type Failure = Pick<AppError, 'message'> & { readonly status: number } & Partial<AppError>;
type ErrorForm = (failure: Failure, requestId: string) => Record<string, unknown>;

/** Contract 1: `details` where fields are at fault, `retryAfter` (seconds) where waiting helps. */
export const standardError: ErrorForm = (failure, requestId) => ({
  status: failure.status,
  error: STATUS_CODES[failure.status] ?? 'Error',
  message: failure.message,
  requestId,
  details: failure.details,
  retryAfter: failure.retryAfterSeconds && Math.ceil(failure.retryAfterSeconds),
});

/** Contract 7, the wholesale interface: `code` is the HTTP status. The request id is in the header alone. */
const wholesaleError: ErrorForm = (failure) => ({ status: 'error', message: failure.message, code: failure.status });

/** Prefixes whose errors look otherwise. */
const FORMS: readonly (readonly [prefix: string, form: ErrorForm])[] = [['/services/', wholesaleError]];

/** How errors of this (canonical) URL look. Goes by the URL, so that unknown routes answer like their neighbours. */
export const errorForm = (url: string): ErrorForm =>
  FORMS.find(([prefix]) => url.startsWith(prefix))?.[1] ?? standardError;

/** An error of one request field: its path, such as `messages[0].body`, and the reason. */
export type FieldFault = { readonly field: string; readonly message: string };

/** A request that failed. `status` is 0 if the server could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  /** Code of an error that the console handles otherwise than by a message, such as `step_up_required`. */
  readonly code: string | undefined;
  /** The ID under which the server's log has the request. */
  readonly requestId: string | undefined;
  readonly details: readonly FieldFault[];
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: {
    status: number;
    message: string;
    code?: string | undefined;
    requestId?: string | undefined;
    details?: readonly FieldFault[] | undefined;
    retryAfterSeconds?: number | undefined;
    cause?: unknown;
  }) {
    super(problem.message, { cause: problem.cause });
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code;
    this.requestId = problem.requestId;
    this.details = problem.details ?? [];
    this.retryAfterSeconds = problem.retryAfterSeconds;
  }
}

/** Returns true if the error means that the user is signed out or the session has ended. */
export const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isFault = (value: unknown): value is FieldFault =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['message'] === 'string';

/**
 * The error for a response that is not 2xx. Its body has one of the API's two error formats, or none.
 */
export function readProblem(response: Response, body: unknown): ApiError {
  const problem = isRecord(body) ? body : {};
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError({
    status: response.status,
    message: typeof problem['message'] === 'string' ? problem['message'] : response.statusText,
    code: typeof problem['code'] === 'string' ? problem['code'] : undefined,
    requestId: response.headers.get('x-request-id') ?? undefined,
    details: Array.isArray(problem['details']) ? problem['details'].filter(isFault) : [],
    retryAfterSeconds: Number.isNaN(retryAfter) ? undefined : retryAfter,
  });
}

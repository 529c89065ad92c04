/** What the server says of one field: `messages[0].body`, and why it is refused. */
export type FieldFault = { readonly field: string; readonly message: string };

/** A request that was refused or failed. `status` 0: the server was not reached at all. */
export class ApiError extends Error {
  readonly status: number;
  /** To be told to whoever runs the server: its log has the same id. */
  readonly requestId: string | undefined;
  readonly details: readonly FieldFault[];
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: {
    status: number;
    message: string;
    requestId?: string | undefined;
    details?: readonly FieldFault[] | undefined;
    retryAfterSeconds?: number | undefined;
    cause?: unknown;
  }) {
    super(problem.message, { cause: problem.cause });
    this.name = 'ApiError';
    this.status = problem.status;
    this.requestId = problem.requestId;
    this.details = problem.details ?? [];
    this.retryAfterSeconds = problem.retryAfterSeconds;
  }
}

/** Nobody is signed in, or the session has ended. */
export const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isFault = (value: unknown): value is FieldFault =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['message'] === 'string';

/** Reads an answer that is not 2xx, in either form that the interface has (contract 1 and 7), or none at all. */
export function readProblem(response: Response, body: unknown): ApiError {
  const told = isRecord(body) ? body : {};
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError({
    status: response.status,
    message: typeof told['message'] === 'string' ? told['message'] : response.statusText,
    requestId: response.headers.get('x-request-id') ?? undefined,
    details: Array.isArray(told['details']) ? told['details'].filter(isFault) : [],
    retryAfterSeconds: Number.isNaN(retryAfter) ? undefined : retryAfter,
  });
}

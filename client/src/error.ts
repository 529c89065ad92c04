/** Error in one field of a request. */
export type FieldError = {
  /** Dotted path, for example `messages[0].destinations`. */
  readonly field: string;
  readonly message: string;
};

/** The fields of a HeliographError before the number of attempts is known. */
export type Failure = {
  readonly status: number;
  readonly message: string;
  readonly requestId?: string | null;
  readonly details?: readonly FieldError[];
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
};

/** A request that failed: the server refused it, or did not respond. */
export class HeliographError extends Error {
  /** The HTTP status; 0 without a response, with the reason in `cause`. */
  readonly status: number;
  /** The X-Request-Id of the response, to be quoted in support requests; null without a response. */
  readonly requestId: string | null;
  /** All invalid fields; empty if no field is the problem. */
  readonly details: readonly FieldError[];
  /** Seconds that the server asks to wait before a retry; null if the response does not state them. */
  readonly retryAfterSeconds: number | null;
  /**
   * Number of times that the request was sent. If more than 1, an earlier attempt may have succeeded: a DELETE then
   * returns 404.
   */
  readonly attempts: number;

  constructor(failure: Failure, attempts = 1) {
    super(failure.message, { cause: failure.cause });
    this.name = 'HeliographError';
    this.status = failure.status;
    this.requestId = failure.requestId ?? null;
    this.details = failure.details ?? [];
    this.retryAfterSeconds = failure.retryAfterSeconds ?? null;
    this.attempts = attempts;
  }
}

/** Reads a failed response. A proxy may have written it, so its form is not taken for granted. */
export async function failureOf(response: Response): Promise<Failure> {
  const { message, details } = readBody(await response.text());
  return {
    status: response.status,
    message: message ?? (response.statusText || `HTTP ${response.status}`),
    requestId: response.headers.get('x-request-id'),
    details,
    retryAfterSeconds: secondsOf(response.headers.get('retry-after')),
  };
}

function readBody(text: string): { message: string | null; details: FieldError[] } {
  const body = membersOf(parse(text));
  const { message, details } = body;
  return {
    message: typeof message === 'string' ? message : null,
    details: Array.isArray(details) ? details.flatMap(readField) : [],
  };
}

function readField(value: unknown): FieldError[] {
  const { field, message } = membersOf(value);
  return typeof field === 'string' && typeof message === 'string' ? [{ field, message }] : [];
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Parses Retry-After, in seconds or as a date (RFC 9110, 10.2.3), into seconds; null if it is neither. */
function secondsOf(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

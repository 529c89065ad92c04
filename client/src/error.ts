/** What is wrong with one field of a request. */
export type FieldError = {
  /** Dotted path, for example `messages[0].destinations`. */
  readonly field: string;
  readonly message: string;
};

export type Failure = {
  readonly status: number;
  readonly message: string;
  readonly requestId?: string | null;
  readonly details?: readonly FieldError[];
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
};

/** A request that did not succeed: the server's answer, or that there was none. */
export class HeliographError extends Error {
  /** The HTTP status; 0 when no answer came: `cause` says why. */
  readonly status: number;
  /** X-Request-Id of the answer: name it when you ask for help. Null without an answer. */
  readonly requestId: string | null;
  /** Every field at fault; empty when no field is. */
  readonly details: readonly FieldError[];
  /** How long the server asks to wait before another try; null when it says nothing. */
  readonly retryAfterSeconds: number | null;
  /** How often the request was sent. After more than one, an earlier one may have been done: a DELETE then reads 404. */
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

/** Reads an answer that is no success. Whatever stands in the way may have written it, so nothing is taken for granted. */
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

/** Retry-After in seconds, or as a date (RFC 9110, 10.2.3). */
function secondsOf(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/**
 * The one table of errors. `text` is what the public reads; a 500 never shows more than this.
 * Imports nothing: every layer may throw one.
 */
export const ERRORS = {
  invalid: [400, 'The request is not valid'],
  malformed_json: [400, 'The body is not valid JSON'],
  unauthenticated: [401, 'Missing or invalid credentials'],
  forbidden: [403, 'Not allowed'],
  plaintext_refused: [403, 'Use HTTPS: plaintext requests are refused'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed on this path'],
  conflict: [409, 'Conflict'],
  too_large: [413, 'The request is too large'],
  unsupported_media_type: [415, 'Unsupported media type: send application/json'],
  range_not_satisfiable: [416, 'The file has no such range'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Internal error'],
  bad_gateway: [502, 'The upstream provider answered with an error'],
  unavailable: [503, 'Temporarily unavailable: try again'],
} as const satisfies Record<string, readonly [status: number, text: string]>;

export type ErrorCode = keyof typeof ERRORS;
export type FieldError = { readonly field: string; readonly message: string };

/** An error with a public face. `cause` and `log` stay inside. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly FieldError[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** That the answer carries besides. */
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      details?: readonly FieldError[];
      retryAfterSeconds?: number;
      headers?: Readonly<Record<string, string>>;
      cause?: unknown;
    } = {},
  ) {
    super(options.message ?? ERRORS[code][1], { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = ERRORS[code][0];
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers;
  }
}

/** 400 with every field at fault. */
export const invalidFields = (details: readonly FieldError[]): AppError =>
  new AppError('invalid', { details, message: details.map((d) => `${d.field}: ${d.message}`).join('; ') });

/**
 * The only table of errors. `text` is the default message that clients see; a 500 always shows this text. This file
 * imports nothing, so that every layer may throw these errors.
 */
export const ERRORS = {
  invalid: [400, 'The request is not valid'],
  malformed_json: [400, 'The body is not valid JSON'],
  unauthenticated: [401, 'Missing or invalid credentials'],
  forbidden: [403, 'Not allowed'],
  step_up_required: [403, 'Re-authentication required: confirm with your password, a code or a passkey'],
  second_factor_required: [403, 'The account requires a second factor: add one first'],
  plaintext_refused: [403, 'Use HTTPS: plaintext requests are rejected'],
  verification_blocked: [403, 'No code was sent: the guard of the service stopped it'],
  challenge_required: [403, 'No code was sent: the user must pass a challenge first'],
  not_found: [404, 'Not found'],
  no_open_verification: [404, 'There is no open verification'],
  method_not_allowed: [405, 'Method not allowed on this path'],
  conflict: [409, 'Conflict'],
  already_used: [409, 'The verification was approved already'],
  gone: [410, 'No longer available'],
  too_large: [413, 'The request is too large'],
  unsupported_media_type: [415, 'Unsupported media type: send application/json'],
  range_not_satisfiable: [416, 'The requested range is outside the file'],
  rate_limited: [429, 'Too many requests'],
  resend_too_soon: [429, 'Too soon for another code'],
  too_many_codes: [429, 'Too many codes'],
  number_locked: [429, 'Too many wrong codes for this number'],
  cost_cap: [429, 'The service has spent what its guard allows'],
  internal: [500, 'Internal error'],
  bad_gateway: [502, 'The upstream provider returned an error'],
  unavailable: [503, 'Temporarily unavailable: try again'],
} as const satisfies Record<string, readonly [status: number, text: string]>;

export type ErrorCode = keyof typeof ERRORS;
/** An invalid field of a request: its dotted path and the error. */
export type FieldError = { readonly field: string; readonly message: string };

/** An error shown to clients. Its `cause` is only logged. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly FieldError[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Further headers of the response. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Further fields of the body, such as the reasons of a guard. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      details?: readonly FieldError[];
      retryAfterSeconds?: number;
      headers?: Readonly<Record<string, string>>;
      fields?: Readonly<Record<string, unknown>>;
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
    this.fields = options.fields;
  }
}

/** Creates a 400 error that names every invalid field. */
export const invalidFields = (details: readonly FieldError[]): AppError =>
  new AppError('invalid', { details, message: summary(details) });

/** Summarises the details; a message that applies to several fields is stated once. */
function summary(details: readonly FieldError[]): string {
  const fields = Map.groupBy(details, ({ message }) => message);
  return [...fields].map(([message, at]) => `${at.map(({ field }) => field).join(', ')}: ${message}`).join('; ');
}

/** The 503 for accounts that are moving to another cell, or have moved. */
export class AccountAway extends AppError {
  readonly accountIds: readonly number[];

  constructor(accountIds: readonly number[]) {
    const message = 'The account is in another cell, or on its way there: try again';
    super('unavailable', { message, retryAfterSeconds: 1 });
    this.accountIds = accountIds;
  }
}

/** Resolves with a row that was looked up. Errors: 404 if there is none. */
export async function existing<T>(row: Promise<T>): Promise<NonNullable<T>> {
  const found = await row;
  if (found === undefined || found === null) throw new AppError('not_found');
  return found;
}

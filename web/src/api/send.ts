import createClient from 'openapi-fetch';
import type { paths } from '../../../client/src/schema.d.ts';
import { followConnection, isOutageStatus, isReachable, saySlow, sayWaiting, untilBack } from './monitor.ts';

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

const SAFE = ['GET', 'HEAD'];
/** Time without a response after which a read is aborted and repeated. */
const READ_TIMEOUT_MS = 60_000;
/**
 * Time after which a change that could not be sent, or got no response, is reported as failed: the user no longer
 * expects it.
 */
const HOLD_MS = 10 * 60_000;
const MAX_REPEATS = 20;

/**
 * Like `fetch`, across interruptions:
 * - A read that fails is the caller's to repeat.
 * - A change waits while the server is known to be away, and is sent when it is back.
 * - A POST with an Idempotency-Key whose response was lost is sent again with the same key, so that it takes effect once.
 * - Other changes are sent once. If the response is lost, they may or may not have taken effect (`unconfirmed`).
 *
 * Rejects with an ApiError of status 0 if there was no response.
 */
function send(request: Request): Promise<Response> {
  if (SAFE.includes(request.method)) return saySlow(read(request));
  return sayWaiting(request.headers.has('idempotency-key') ? changeWithKey(request) : changeOnce(request));
}

async function read(request: Request): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), READ_TIMEOUT_MS);
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, timeout.signal]) });
    if (isOutageStatus(response.status)) void untilBack();
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    void untilBack();
    throw noAnswer('unreachable', cause);
  } finally {
    clearTimeout(timer);
  }
}

async function changeOnce(request: Request): Promise<Response> {
  await untilSendable(Date.now() + HOLD_MS);
  try {
    const response = await fetch(request);
    if (isOutageStatus(response.status)) void untilBack();
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    void untilBack();
    throw noAnswer('unconfirmed', cause);
  }
}

async function changeWithKey(request: Request): Promise<Response> {
  const until = Date.now() + HOLD_MS;
  await untilSendable(until);
  for (let turn = 0; ; turn += 1) {
    const answer = await tryOnce(request.clone());
    const mayRepeat = turn < MAX_REPEATS && Date.now() < until;
    if (answer instanceof Response && !needsRepeat(answer)) return answer;
    const wasAway = await atMost(untilBack(), until);
    // The first loss of a connection is worth a retry although the server responds to other requests.
    const isWorthIt = wasAway || (answer instanceof Response ? isInProgress(answer) : turn === 0 || answer.isOver);
    if (mayRepeat && isWorthIt) continue;
    if (answer instanceof Response) return answer;
    throw noAnswer('unconfirmed', answer.cause);
  }
}

const needsRepeat = (answer: Response): boolean => isOutageStatus(answer.status) || isInProgress(answer);

/** The server still works on the first request with this key: 409 with a time to wait. */
const isInProgress = ({ status, headers }: Response): boolean => status === 409 && headers.has('retry-after');

/** `isOver`: it was given up, because an outage during which it had no response has ended. */
type Lost = { readonly cause: unknown; readonly isOver: boolean };

/** Sends it once. It is also lost when it had no response before an outage that is over. */
async function tryOnce(request: Request): Promise<Response | Lost> {
  const giveUp = new AbortController();
  let wasAway = !isReachable();
  const stop = followConnection(() => {
    if (wasAway && isReachable()) giveUp.abort();
    wasAway = !isReachable();
  });
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, giveUp.signal]) });
    if (isInProgress(response)) await later(Number(response.headers.get('retry-after')) * 1000);
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    return { cause, isOver: giveUp.signal.aborted };
  } finally {
    stop();
  }
}

/** Waits while the server is known to be away. Nothing has been sent, so a failure is certain. */
async function untilSendable(until: number): Promise<void> {
  if (!isReachable()) await atMost(untilBack(), until);
  if (!isReachable()) throw noAnswer('notSent', undefined);
}

const later = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

async function atMost(work: Promise<boolean>, until: number): Promise<boolean> {
  return Promise.race([work, later(Math.max(0, until - Date.now())).then(() => false)]);
}

type NoAnswer = 'unreachable' | 'unconfirmed' | 'notSent';

const noAnswer = (code: NoAnswer, cause: unknown): ApiError => new ApiError({ status: 0, message: '', code, cause });

/** Proof that the server requires of the user: to sign in again, or to confirm that it is still the same user. */
export type Proof = 'sign-in' | 'step-up';

/** Asks the user; resolves with true if the proof was given. */
type Asker = (proof: Proof) => Promise<boolean>;

let asker: Asker | null = null;
const asked = new Map<Proof, Promise<boolean>>();

/**
 * Sets the function that asks a signed-in user for proof; returns a function that unsets it. Without one, errors stay
 * errors, as on the sign-in page.
 */
export function askWith(next: Asker): () => void {
  asker = next;
  return () => {
    if (asker === next) asker = null;
  };
}

/** Returns the proof that a response requires; null for all other errors. */
export function proofFor(error: unknown): Proof | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 401) return 'sign-in';
  return error.code === 'step_up_required' ? 'step-up' : null;
}

/** Asks the user for a proof, once for all requests that wait for it. Resolves with true to send them again. */
export function userProves(proof: Proof): Promise<boolean> {
  const running = asked.get(proof);
  if (running) return running;
  const asking = asker?.(proof).finally(() => asked.delete(proof)) ?? Promise.resolve(false);
  if (asker !== null) asked.set(proof, asking);
  return asking;
}

/** The paths of the API, for the types of requests. */
export type { paths as Paths };

/**
 * Like `send`, but when the session has ended, or must prove that its user is present, the user is asked over the page,
 * and then the request is sent again. If the user declines, the first response counts.
 */
async function fetchWithProof(request: Request): Promise<Response> {
  const again = isSignIn(request) ? null : request.clone();
  const response = await send(request);
  if (again === null || (response.status !== 401 && response.status !== 403)) return response;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  const proof = proofFor(readProblem(response, body));
  return proof !== null && (await userProves(proof)) ? send(again) : response;
}

const SESSION = '/api/partner-gateway/v1/session';
const SIGN_IN = [SESSION, `${SESSION}/second-factor`, `${SESSION}/passkey-options`, `${SESSION}/passkey`];

/** Returns true if a request signs in or out: asking for a sign-in there would go in circles. */
const isSignIn = ({ url, method }: Request): boolean => method !== 'GET' && SIGN_IN.includes(new URL(url).pathname);

/** Matches requests before a sign-in, for which the server keeps no keys: they must not be repeated. */
const WITHOUT_ACCOUNT = /\/v1\/(session|password-reset|invitations\/(open|accept))(\/|$)/;

/**
 * The client of the public API, typed by docs/openapi.json: `ok(api.GET(path, { params: { path, query }, signal }))`.
 * Changing requests carry the console's header, which proves to the server that no other site sent them, and each
 * POST has its own Idempotency-Key.
 */
export const api = createClient<paths>({ fetch: fetchWithProof, credentials: 'same-origin' });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(mutationHeaders(request.method))) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
    if (WITHOUT_ACCOUNT.test(new URL(request.url).pathname)) request.headers.delete('idempotency-key');
  },
});

/** The headers that a changing request needs, for uploads and other requests that are not made through `api`. */
export function mutationHeaders(method: string): Readonly<Record<string, string>> {
  if (SAFE.includes(method)) return {};
  const key: Record<string, string> = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {};
  return { 'x-heliograph-console': '1', ...key };
}

type Answer<D> = { readonly data?: D; readonly error?: unknown; readonly response: Response };

/** Resolves with the body of a 2xx response (undefined if it has none); rejects with an ApiError otherwise. */
export async function ok<D>(asking: Promise<Answer<D>>): Promise<D> {
  const { data, error, response } = await asking;
  if (!response.ok) throw readProblem(response, error);
  // If the response has no body, its type has none either.
  return data as D;
}

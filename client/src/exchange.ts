import { type Failure, failureOf, HeliographError } from './error.ts';

export type Fetch = (input: Request) => Promise<Response>;

export type ExchangeOptions = {
  readonly fetch: Fetch;
  /** The time limit for one attempt: up to the end of a JSON response, or to the beginning of any other. */
  readonly timeoutMs: number;
  /** Attempts after the first. */
  readonly retries: number;
};

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** Maximum wait before a retry: if the server asks for a longer one, the caller decides. */
const MAX_WAIT_MS = 60_000;
/** Methods for which an Idempotency-Key is sent; PUTs that do not support it ignore it. */
const KEYED_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT']);

/**
 * Returns a fetch function that retries temporary failures: no response, 429, 503, and 409 of a key that is in
 * progress. Every attempt has the same Idempotency-Key and exactly the same bytes, so the server does the work of a key
 * once. Resolves with a successful response. Rejects with a HeliographError, or with the reason of `signal` if the
 * caller has given up.
 */
export function createExchange(options: ExchangeOptions): Fetch {
  return async (request) => {
    const copy = await repeatable(request);
    for (let attempts = 1; ; attempts++) {
      request.signal.throwIfAborted();
      const outcome = await attempt(options, copy(), request.signal);
      if (outcome instanceof Response) return outcome;
      const waitMs = attempts > options.retries ? null : retryDelayMs(outcome, attempts);
      if (waitMs === null) throw new HeliographError(outcome, attempts);
      await pause(waitMs, request.signal);
    }
  };
}

/** A request can be sent only once, so its body is read here, and each attempt gets a copy. */
async function repeatable(request: Request): Promise<() => Request> {
  const headers = new Headers(request.headers);
  if (KEYED_METHODS.has(request.method) && !headers.has('idempotency-key'))
    headers.set('idempotency-key', crypto.randomUUID());
  const bytes = await request.arrayBuffer();
  const body = bytes.byteLength === 0 ? null : bytes;
  return () => new Request(request.url, { method: request.method, headers, body, redirect: 'error' });
}

async function attempt(
  { fetch, timeoutMs }: ExchangeOptions,
  request: Request,
  signal: AbortSignal,
): Promise<Response | Failure> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  try {
    const response = await fetch(new Request(request, { signal: AbortSignal.any([signal, timeout.signal]) }));
    return response.ok ? await readJson(response) : await failureOf(response);
  } catch (cause) {
    if (signal.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { status: 0, message: `No response from ${new URL(request.url).origin}: ${reason}`, cause };
  } finally {
    clearTimeout(timer);
  }
}

/** Reads JSON to its end, so that a connection lost in the middle counts as no response. Files are streamed. */
async function readJson(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) return response;
  const { status, statusText, headers } = response;
  return new Response(await response.arrayBuffer(), { status, statusText, headers });
}

/** The time in ms until the next attempt, after this many; null if there should be none. */
function retryDelayMs({ status, retryAfterSeconds = null }: Failure, attempts: number): number | null {
  const isTemporary =
    status === 0 || status === 429 || status === 503 || (status === 409 && retryAfterSeconds !== null);
  if (!isTemporary) return null;
  if (retryAfterSeconds === null) return backoff(attempts);
  const waitMs = retryAfterSeconds * 1000;
  return waitMs > MAX_WAIT_MS ? null : waitMs + backoff(1);
}

/** Doubles, with jitter, so that clients that lost the same server do not all come back at once. */
const backoff = (attempts: number): number =>
  Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

/** Waits; resolves at once when the caller gives up. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    if (signal.aborted) resolve();
  });
}

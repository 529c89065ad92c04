import { type Failure, failureOf, HeliographError } from './error.ts';

export type Fetch = (input: Request) => Promise<Response>;

export type ExchangeOptions = {
  readonly fetch: Fetch;
  /** For one try, up to the end of an answer in JSON, or the beginning of any other. */
  readonly timeoutMs: number;
  /** Tries beyond the first. */
  readonly retries: number;
};

const FIRST_WAIT_MS = 250;
const LONGEST_BACKOFF_MS = 10_000;
/** When the server asks for more than this, the caller decides. */
const LONGEST_WAIT_MS = 60_000;
/** What takes an Idempotency-Key; other PUTs pass it over. */
const KEYED: ReadonlySet<string> = new Set(['POST', 'PUT']);

/**
 * Sends a request until it has an answer that counts. Tried again, under the same Idempotency-Key and octet by octet the
 * same, is what came to nothing for a while: no answer, 429, 503, and 409 of a key that is under way. The server does the
 * work of a key once.
 *
 * Resolves with a success; rejects with a HeliographError, or with the reason of `signal` when the caller has given up.
 */
export function createExchange(options: ExchangeOptions): Fetch {
  return async (request) => {
    const copy = await repeatable(request);
    for (let attempts = 1; ; attempts++) {
      request.signal.throwIfAborted();
      const outcome = await attempt(options, copy(), request.signal);
      if (outcome instanceof Response) return outcome;
      const waitMs = attempts > options.retries ? null : waitOf(outcome, attempts);
      if (waitMs === null) throw new HeliographError(outcome, attempts);
      await pause(waitMs, request.signal);
    }
  };
}

/** A request can be sent once: its body is read here, and each try gets a copy. */
async function repeatable(request: Request): Promise<() => Request> {
  const headers = new Headers(request.headers);
  if (KEYED.has(request.method) && !headers.has('idempotency-key')) headers.set('idempotency-key', crypto.randomUUID());
  const octets = await request.arrayBuffer();
  const body = octets.byteLength === 0 ? null : octets;
  return () => new Request(request.url, { method: request.method, headers, body, redirect: 'error' });
}

async function attempt(
  { fetch, timeoutMs }: ExchangeOptions,
  request: Request,
  signal: AbortSignal,
): Promise<Response | Failure> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    const response = await fetch(new Request(request, { signal: AbortSignal.any([signal, late.signal]) }));
    return response.ok ? await whole(response) : await failureOf(response);
  } catch (cause) {
    if (signal.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { status: 0, message: `No answer from ${new URL(request.url).origin}: ${reason}`, cause };
  } finally {
    clearTimeout(timer);
  }
}

/** JSON is read to its end: a connection that is lost in the middle of it is one without an answer. Files are streamed. */
async function whole(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) return response;
  const { status, statusText, headers } = response;
  return new Response(await response.arrayBuffer(), { status, statusText, headers });
}

/** Milliseconds until the next try, whose number it is after `attempts`; null when there is to be none. */
function waitOf({ status, retryAfterSeconds = null }: Failure, attempts: number): number | null {
  const passes = status === 0 || status === 429 || status === 503 || (status === 409 && retryAfterSeconds !== null);
  if (!passes) return null;
  if (retryAfterSeconds === null) return backoff(attempts);
  const waitMs = retryAfterSeconds * 1000;
  return waitMs > LONGEST_WAIT_MS ? null : waitMs + backoff(1);
}

/** Doubles, and is spread: clients that lost the same server must not come back together. */
const backoff = (attempts: number): number =>
  Math.min(LONGEST_BACKOFF_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

/** Ends at once when the caller gives up. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    if (signal.aborted) resolve();
  });
}

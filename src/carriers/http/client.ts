import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { USER_AGENT } from '../../platform/lib/user-agent.ts';

/** One HTTP request of a carrier. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** In lower case; `user-agent` is that of this program by default. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limit for the whole exchange, the wait for a connection included; defaults to the client's setting. */
  readonly timeoutMs?: number;
  /** Maximum size of the response body; defaults to the client's setting. */
  readonly maxBytes?: number;
};

/** The result of an HTTP request. */
export type HttpAnswer =
  /** A complete response of any status, redirects included: they are not followed. */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
    }
  /**
   * No complete response. `written` is true when octets may have gone out, so that the peer may have acted on them.
   * `tooLarge` is true when the response body exceeds its maximum size.
   */
  | { readonly kind: 'failed'; readonly written: boolean; readonly reason: string; readonly tooLarge?: boolean };

/** An HTTP client with kept-alive connections. */
export type HttpClient = {
  /** Sends a request and resolves with its result; never rejects. */
  request(request: HttpRequest): Promise<HttpAnswer>;
  /** Closes all connections; requests in flight end as `failed`. */
  close(): Promise<void>;
};

/** The limits of an HTTP client. */
export type HttpClientOptions = {
  /** Maximum connections per origin; further requests wait for a free one. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Maximum size of a response body; default 1 MiB. */
  readonly maxBytes?: number;
  /** Replaces the system's name resolution, for hosts that third parties name. */
  readonly lookup?: LookupFunction;
  /** Whether an address may be dialled that stands in place of a name, for which `lookup` is not called; default: any. */
  readonly isAllowed?: (address: string) => boolean;
};

const MAX_BODY_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Creates an HTTP/1.1 client for carriers: it keeps connections alive, verifies certificates, decompresses nothing, and
 * ends each request by its deadline, which covers the whole response.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { connections, connectTimeoutMs, timeoutMs, maxBytes = MAX_BODY_BYTES, lookup, isAllowed } = options;
  const agent = new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectTimeoutMs, ...(lookup && { lookup }) },
    maxHeaderSize: MAX_HEADER_BYTES,
    // One deadline covers the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 120_000,
  });
  return {
    request: (request) =>
      isAllowed && !isAddressAllowed(request.origin, isAllowed)
        ? Promise.resolve(REFUSED_ADDRESS)
        : exchange(agent, { timeoutMs, maxBytes, ...request }),
    close: () => agent.destroy(),
  };
}

const REFUSED_ADDRESS: HttpAnswer = { kind: 'failed', written: false, reason: 'the host has a non-public address' };

function isAddressAllowed(origin: string, isAllowed: (address: string) => boolean): boolean {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowed(host);
}

type Bounded = HttpRequest & { readonly timeoutMs: number; readonly maxBytes: number };

function exchange(agent: Agent, { timeoutMs, maxBytes, ...given }: Bounded): Promise<HttpAnswer> {
  const request = { ...given, headers: { 'user-agent': USER_AGENT, ...given.headers } };
  return new Promise((resolve) => {
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
    const answer = createCollector(maxBytes);
    let controller: Dispatcher.DispatchController | undefined;
    let over = false;

    function end(result: HttpAnswer): void {
      over = true;
      clearTimeout(timer);
      resolve(result);
    }
    function fail(reason: string, tooLarge = false): void {
      if (over) return;
      end({ kind: 'failed', written: controller !== undefined, reason, ...(tooLarge && { tooLarge }) });
      controller?.abort(new Error(reason));
    }
    agent.dispatch(request, {
      // undici calls this right before the first octet: a request that fails earlier has not gone out.
      onRequestStart(started) {
        if (over) started.abort(new Error('too late'));
        else controller = started;
      },
      onResponseStart: (_, status, headers) => answer.begin(status, headers),
      onResponseData(_, chunk) {
        if (!answer.add(chunk)) fail(`the answer exceeds ${maxBytes} bytes`, true);
      },
      onResponseEnd: () => (over ? undefined : end(answer.done())),
      onResponseError: (_, error) => fail(error.message),
    });
  });
}

type Collector = {
  begin(status: number, headers: IncomingHttpHeaders): void;
  /** Returns false when the body is too long. */
  add(chunk: Buffer): boolean;
  done(): HttpAnswer;
};

function createCollector(maxBytes: number): Collector {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: { status: number; headers: IncomingHttpHeaders } = { status: 0, headers: {} };
  return {
    // Interim responses arrive here too; the last one counts.
    begin(status, headers) {
      head = { status, headers };
    },
    add(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      return bytes <= maxBytes;
    },
    done: () => ({ kind: 'answered', ...head, body: Buffer.concat(chunks, bytes) }),
  };
}

const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Returns the wait that `Retry-After` asks for, in milliseconds, at most one hour; 0 when it is missing or unreadable.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now = Date.now()): number {
  const text = headers['retry-after'];
  if (typeof text !== 'string') return 0;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) : 0;
}

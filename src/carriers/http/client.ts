import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { USER_AGENT } from '../../platform/lib/user-agent.ts';

/** One HTTP request of a carrier. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case; `user-agent` is that of this program by default. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limit for the whole exchange, including the wait for a connection; defaults to the client's setting. */
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
   * No complete response. `written` is true if bytes may have gone out, so that the peer may have acted on them.
   * `tooLarge` is true if the response body exceeds its maximum size.
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
  /**
   * Returns true if an address that is given instead of a name, without a call of `lookup`, may be dialled; default:
   * any.
   */
  readonly isAllowed?: (address: string) => boolean;
};

const MAX_BODY_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 16 * 1024;

/** Number of origins cached: a carrier has one or two, in addition to hosts of files. */
const MAX_ORIGINS = 100;

/**
 * Creates an HTTP/1.1 client for carriers: it keeps connections alive, verifies certificates, decompresses nothing, and
 * ends each request by its deadline, which covers the whole response.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { timeoutMs, maxBytes = MAX_BODY_BYTES, isAllowed } = options;
  /** Null for an origin whose address is not allowed. */
  const lanes = new Map<string, Lane | null>();
  let closed = false;

  function laneOf(origin: string): Lane | null {
    const known = lanes.get(origin);
    if (known !== undefined) return known;
    if (lanes.size >= MAX_ORIGINS) dropIdle(lanes);
    const lane = isAllowed && !isAddressAllowed(origin, isAllowed) ? null : createLane(origin, options);
    lanes.set(origin, lane);
    return lane;
  }

  return {
    request(request) {
      if (closed) return Promise.resolve(CLOSED);
      const lane = laneOf(request.origin);
      if (lane === null) return Promise.resolve(REFUSED_ADDRESS);
      return exchange(lane, request, request.timeoutMs ?? timeoutMs, request.maxBytes ?? maxBytes);
    },
    async close() {
      closed = true;
      await Promise.all([...lanes.values()].flatMap((lane) => (lane === null ? [] : [lane.destroy()])));
    },
  };
}

const REFUSED_ADDRESS: HttpAnswer = { kind: 'failed', written: false, reason: 'the host has a non-public address' };
const CLOSED = { kind: 'failed', written: false, reason: 'the client is closed' } as const;

function isAddressAllowed(origin: string, isAllowed: (address: string) => boolean): boolean {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowed(host);
}

function dropIdle(lanes: Map<string, Lane | null>): void {
  for (const [origin, lane] of lanes) {
    if (lane?.isBusy()) continue;
    lanes.delete(origin);
    void lane?.destroy();
  }
}

/** The connections to one origin; each has one request at a time. */
type Lane = {
  /**
   * Calls `use` with a free connection, now or when there is one, in the order of the calls; with null after `destroy`.
   */
  take(use: (connection: Client | null) => void): void;
  /** Returns a connection obtained from `take`. */
  release(connection: Client): void;
  isBusy(): boolean;
  /** Closes all connections; requests on them fail. */
  destroy(): Promise<unknown>;
};

/**
 * Creates the connections to one origin. undici's own pool searches all of its connections for a free one, and notifies
 * listeners of each that becomes free.
 */
function createLane(origin: string, { connections, connectTimeoutMs, lookup }: HttpClientOptions): Lane {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    // Regardless of NODE_TLS_REJECT_UNAUTHORIZED: the requests carry credentials.
    rejectUnauthorized: true,
    ...(lookup && { lookup }),
  });
  const all: Client[] = [];
  const free: Client[] = [];
  const waiting: ((connection: Client | null) => void)[] = [];

  function open(): Client {
    const connection = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      connect,
      maxHeaderSize: MAX_HEADER_BYTES,
      // One deadline covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 120_000,
    });
    all.push(connection);
    return connection;
  }

  return {
    take(use) {
      // The last one used: unneeded ones close.
      const connection = free.pop() ?? (all.length < connections ? open() : undefined);
      if (connection) use(connection);
      else waiting.push(use);
    },
    release(connection) {
      const next = waiting.shift();
      if (next) next(connection);
      else free.push(connection);
    },
    isBusy: () => free.length < all.length,
    destroy() {
      for (const use of waiting.splice(0)) use(null);
      return Promise.all(all.map((connection) => connection.destroy()));
    },
  };
}

function exchange(
  lane: Lane,
  { method, origin, path, headers, body }: HttpRequest,
  timeoutMs: number,
  maxBytes: number,
): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
    let connection: Client | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    let over = false;
    let statusCode = 0;
    let answered: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let bytes = 0;

    function end(result: HttpAnswer): void {
      over = true;
      clearTimeout(timer);
      resolve(result);
      if (connection) lane.release(connection);
    }
    function fail(reason: string, tooLarge = false): void {
      if (over) return;
      over = true;
      const written = controller !== undefined;
      controller?.abort(new Error(reason));
      end({ kind: 'failed', written, reason, ...(tooLarge && { tooLarge }) });
    }

    const handler: Dispatcher.DispatchHandler = {
      // undici calls this right before the first byte: a request that fails earlier has not gone out.
      onRequestStart(started) {
        if (over) started.abort(new Error('too late'));
        else controller = started;
      },
      // Interim responses arrive here too; the last one counts.
      onResponseStart(_, code, fields) {
        statusCode = code;
        answered = fields;
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBytes) fail(`the answer exceeds ${maxBytes} bytes`, true);
      },
      onResponseEnd() {
        if (!over) end({ kind: 'answered', status: statusCode, headers: answered, body: joined(chunks, bytes) });
      },
      onResponseError: (_, error) => fail(error.message),
    };
    lane.take((free) => {
      if (free === null) return fail(CLOSED.reason);
      if (over) return lane.release(free);
      connection = free;
      const sent = { 'user-agent': USER_AGENT, ...headers };
      free.dispatch({ method, origin, path, headers: sent, body: body ?? null }, handler);
    });
  });
}

const joined = (chunks: readonly Buffer[], bytes: number): Buffer => {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
};

const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Returns the wait that `Retry-After` asks for, in milliseconds, at most one hour; 0 if it is missing or unreadable.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now = Date.now()): number {
  const text = headers['retry-after'];
  if (typeof text !== 'string') return 0;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) : 0;
}

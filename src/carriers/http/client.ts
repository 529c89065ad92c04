import type { IncomingHttpHeaders } from 'node:http';
import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For all of it, waiting for a connection included; the client's default when left out. */
  readonly timeoutMs?: number;
  /** Longest body of an answer; the client's default when left out. */
  readonly maxBytes?: number;
};

export type HttpAnswer =
  /** Any status is an answer, a redirect too: none is followed. */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
    }
  /** No complete answer. `written`: octets may have gone out, so that the peer may have acted on them. */
  | { readonly kind: 'failed'; readonly written: boolean; readonly reason: string };

export type HttpClient = {
  /** Never rejects. */
  request(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends what is under way as failed, and the connections. */
  close(): Promise<void>;
};

export type HttpClientOptions = {
  /** Connections to one origin; more requests than that wait for one of them. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Default 1 MiB. */
  readonly maxBytes?: number;
  /** In place of the system's, for hosts that others name. */
  readonly lookup?: LookupFunction;
};

const MAX_BODY_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * HTTP/1.1 for carriers: connections are kept, certificates are verified, nothing is decompressed, and each request
 * ends by its deadline, which covers the whole answer.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { connections, connectTimeoutMs, timeoutMs, maxBytes = MAX_BODY_BYTES, lookup } = options;
  const agent = new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectTimeoutMs, ...(lookup && { lookup }) },
    maxHeaderSize: MAX_HEADER_BYTES,
    // One deadline is over all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 120_000,
  });
  return {
    request: (request) => exchange(agent, { timeoutMs, maxBytes, ...request }),
    close: () => agent.destroy(),
  };
}

type Bounded = HttpRequest & { readonly timeoutMs: number; readonly maxBytes: number };

function exchange(agent: Agent, { timeoutMs, maxBytes, ...request }: Bounded): Promise<HttpAnswer> {
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
    function fail(reason: string): void {
      if (over) return;
      end({ kind: 'failed', written: controller !== undefined, reason });
      controller?.abort(new Error(reason));
    }
    agent.dispatch(request, {
      // undici calls it right before the first octet: whatever fails without it has not gone out.
      onRequestStart(started) {
        if (over) started.abort(new Error('too late'));
        else controller = started;
      },
      onResponseStart: (_, status, headers) => answer.begin(status, headers),
      onResponseData(_, chunk) {
        if (!answer.add(chunk)) fail(`the answer is longer than ${maxBytes} octets`);
      },
      onResponseEnd: () => (over ? undefined : end(answer.done())),
      onResponseError: (_, error) => fail(error.message),
    });
  });
}

type Collector = {
  begin(status: number, headers: IncomingHttpHeaders): void;
  /** False when it is too long. */
  add(chunk: Buffer): boolean;
  done(): HttpAnswer;
};

function createCollector(maxBytes: number): Collector {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: { status: number; headers: IncomingHttpHeaders } = { status: 0, headers: {} };
  return {
    // Interim answers come here too; the last one counts.
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

const LONGEST_WAIT_MS = 3_600_000;

/** What `Retry-After` asks for, in milliseconds, at most an hour; 0 when it asks for nothing readable. */
export function retryAfterMs(headers: IncomingHttpHeaders, now = Date.now()): number {
  const text = headers['retry-after'];
  if (typeof text !== 'string') return 0;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), LONGEST_WAIT_MS) : 0;
}

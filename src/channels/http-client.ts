import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { USER_AGENT, withoutContinue } from '../core/outbound.ts';
import { trimCharacterEnd } from '../core/schema.ts';
import type { Outcome, Submission } from './carrier.ts';
import { createThrottle } from './throttle.ts';

/** The base address of an API: everything before the path of a request. */
type BaseUrl = {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The beginning of every path: empty, or `/…` without a trailing slash. */
  readonly prefix: string;
};

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/**
 * Parses the base URL of an API from the settings. Requests carry tokens, so it must be https, except on the loopback
 * interface. Throws an Error that begins with the name of the field.
 */
export function parseBaseUrl(field: string, text: string): BaseUrl {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new Error(`${field}: must be a URL`);
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) throw new Error(`${field}: must begin with https://`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(`${field}: must be a host and a path only`);
  }
  return { origin: url.origin, prefix: trimCharacterEnd(url.pathname, '/') };
}

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Scheme, host and port. */
  readonly origin: string;
  readonly path: string;
  /** Names in lower case; `user-agent` is that of this program by default. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limit for the whole exchange, including the wait for a connection; defaults to the client's setting. */
  readonly timeoutMs?: number;
  /** Maximum size of the response body; defaults to the client's setting. */
  readonly maxBytes?: number;
};

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
  const connector = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    // Regardless of NODE_TLS_REJECT_UNAUTHORIZED: the requests carry credentials.
    rejectUnauthorized: true,
    ...(lookup && { lookup }),
  });
  const connect: typeof connector = (target, done) =>
    connector(target, (...[error, socket]) => (error ? done(error, null) : done(null, withoutContinue(socket))));
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
    const timer = setTimeout(() => fail(`no response within ${timeoutMs / 1000} s`), timeoutMs);
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
        if (bytes > maxBytes) fail(`the response exceeds ${maxBytes} bytes`, true);
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

/** Limits the submits of an HTTP carrier: a fixed number at a time, none while the gate is closed or pausing. */
export type Gate = {
  /** Returns the number of free slots; 0 while the gate is closed or pausing. */
  room(): number;
  /** Returns the number of submits that hold a slot. */
  inFlight(): number;
  /**
   * Sends a message in a free slot and resolves with the outcome of `send`. Resolves with a refusal if the validity is
   * over, with `retry` if no slot is free, and with `unknown` if `send` rejects; never rejects.
   */
  pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome>;
  /** Opens or closes the gate, for example without a token or after a fault. It is closed at first. */
  setOpen(open: boolean): void;
  /** Returns true if the gate is open and not stopping. */
  isOpen(): boolean;
  /** Pauses for at least `minMs`, because the network is not available. */
  pause(minMs?: number): void;
  /** Shortens the next pause again, because the network took a message. */
  messageAccepted(): void;
  /** Returns the remaining time of the pause; 0 if there is none. */
  pauseMs(): number;
  /** Aborted when the gate drains: after that nothing is started or repeated. */
  readonly stopping: AbortSignal;
  /** Closes for good; resolves when nothing is in flight, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>;
};

const EXPIRED: Outcome = {
  kind: 'refused',
  status: 'EXPIRED',
  code: 'EXPIRED',
  text: 'The validity period ended before the message was sent',
  carrierIds: [],
};
const NO_FREE_SLOT: Outcome = { kind: 'retry', afterMs: 0, counts: false, code: 'NOT_SENT', text: 'No slot is free' };

/** Creates a closed gate. `onChange` is called, at most once per tick, when `room()` or the state may have changed. */
export function createGate(
  options: { readonly slots: number; readonly throttlePauseMs: number },
  onChange: () => void,
): Gate {
  const throttle = createThrottle(options.throttlePauseMs, changed);
  const idle = Promise.withResolvers<void>();
  const stop = new AbortController();
  let used = 0;
  let open = false;
  let notified = false;

  function changed(): void {
    if (notified) return;
    notified = true;
    queueMicrotask(() => {
      notified = false;
      onChange();
    });
  }

  function room(): number {
    return open && !stop.signal.aborted && throttle.pauseMs() === 0 ? Math.max(0, options.slots - used) : 0;
  }

  async function pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome> {
    const { validUntil } = submission;
    if (validUntil !== null && validUntil.getTime() <= Date.now()) return EXPIRED;
    if (room() === 0) return NO_FREE_SLOT;
    used += 1;
    try {
      return await send(submission);
    } catch (error) {
      // The message may have gone out: an error on our side is no reason to send it twice.
      return { kind: 'unknown', text: error instanceof Error ? error.message : String(error), carrierIds: [] };
    } finally {
      used -= 1;
      if (used === 0 && stop.signal.aborted) idle.resolve();
      changed();
    }
  }

  async function drain(deadlineMs: number): Promise<void> {
    stop.abort();
    throttle.stop();
    if (used === 0) return;
    const timer = setTimeout(idle.resolve, deadlineMs);
    await idle.promise;
    clearTimeout(timer);
  }

  return {
    room,
    inFlight: () => used,
    pass,
    setOpen(next) {
      if (open !== next) changed();
      open = next;
    },
    isOpen: () => open && !stop.signal.aborted,
    pause: throttle.pause,
    messageAccepted: () => throttle.accepted(),
    pauseMs: throttle.pauseMs,
    stopping: stop.signal,
    drain,
  };
}

/** The state of the link to an API; see `createLink`. */
type Link = {
  /** Starts to probe the API's reachability and the credentials. */
  start(): void;
  /** Closes the link and probes it again soon, because a request got no response. */
  verify(): void;
  /** Closes the link, and probes at intervals until the credentials are accepted again. */
  refused(text: string): void;
  /** Lets the next `verify` probe without delay, because a message was accepted. */
  messageAccepted(): void;
  /** Returns the reason while the credentials are rejected, else null. */
  fault(): string | null;
  stop(): void;
};

export type Probed = { readonly state: 'available' | 'unreachable' | 'refused'; readonly text: string };

/** The delays between probes. */
type LinkTiming = {
  /** The first delay between two probes; it doubles up to `probeMaxMs`. */
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
  /** The delay between two probes after the credentials were rejected. */
  readonly refusedMs: number;
};

/**
 * Watches the reachability of an API and the validity of our credentials, by a request that sends nothing. Calls
 * `report` with true if messages may be sent and with the fault of the credentials if there is one, and `failed` with
 * the reason of a failed probe. Probes are repeated with delays that double. `probe` must not reject.
 */
export function createLink(
  probe: () => Promise<Probed>,
  timing: LinkTiming,
  report: (open: boolean, fault: string | null) => void,
  failed: (reason: string) => void,
): Link {
  let delayMs = 0;
  /** True while a probe is in flight or scheduled. */
  let probing = false;
  let stopped = false;
  let fault: string | null = null;
  let timer: NodeJS.Timeout | undefined;

  function scheduleProbe(ms: number): void {
    probing = true;
    clearTimeout(timer);
    timer = setTimeout(() => void probeNow(), ms);
  }

  async function probeNow(): Promise<void> {
    const { state, text } = await probe();
    if (stopped) return;
    if (state === 'available') setState(true, null);
    else if (state === 'refused') refused(text);
    else {
      failed(text);
      scheduleProbe(nextDelay());
    }
  }

  function setState(open: boolean, text: string | null): void {
    probing &&= !open;
    fault = text;
    report(open, text);
  }

  function nextDelay(): number {
    delayMs = Math.min(Math.max(delayMs * 2, timing.probeBaseMs), timing.probeMaxMs);
    return delayMs;
  }

  /** Probes immediately the first time; the delay grows while every successful probe is followed by another failure. */
  function verify(): void {
    if (stopped || probing) return;
    setState(false, null);
    scheduleProbe(delayMs);
    nextDelay();
  }

  function refused(text: string): void {
    if (stopped) return;
    setState(false, text);
    failed(text);
    scheduleProbe(timing.refusedMs);
  }

  return {
    start: () => scheduleProbe(0),
    verify,
    refused,
    messageAccepted() {
      delayMs = 0;
    },
    fault: () => fault,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

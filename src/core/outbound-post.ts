import { readFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import type { Config } from './config.ts';
import { StartupError } from './db/startup-error.ts';
import {
  createGuard,
  createGuardedConnector,
  createGuardedFetch,
  createResolve,
  createResolveTexts,
  describeFault,
  type Guard,
  type GuardedFetch,
  parseRetryAfter,
  type ResolveTexts,
} from './outbound.ts';

/**
 * Safe outbound traffic, one instance per process: `guard` decides which addresses may be called over HTTP, `poster`
 * posts events to it, and `fetchPicture` reads up to 1 MiB from it. Providers of single sign-on have other ports.
 */
export type Outbound = {
  readonly guard: Guard;
  readonly poster: Poster;
  readonly fetchPicture: GuardedFetch;
  readonly signOn: { readonly guard: Guard; readonly fetch: GuardedFetch };
  readonly resolveTexts: ResolveTexts;
};

const MAX_PICTURE_BYTES = 1024 * 1024;

/**
 * Creates the outbound clients from the WEBHOOK_ settings, SINGLE_SIGN_ON_PORTS and DNS_SERVERS. Throws a StartupError
 * if WEBHOOK_CA_FILE has no certificates.
 */
export async function createOutbound({
  webhooks: { allowedBlocks, ports, caFile },
  singleSignOnPorts,
  dnsServers: servers,
}: Pick<Config, 'webhooks' | 'singleSignOnPorts' | 'dnsServers'>): Promise<Outbound> {
  const resolve = createResolve({ servers });
  const guard = createGuard({ allowedBlocks, ports, resolve });
  const signOnGuard = createGuard({ allowedBlocks, ports: singleSignOnPorts, resolve });
  const trusting = (ca: string | undefined): Outbound => ({
    guard,
    poster: createPoster({ guard, ca }),
    fetchPicture: createGuardedFetch({ guard, ca, maxAnswerBytes: MAX_PICTURE_BYTES }),
    signOn: { guard: signOnGuard, fetch: createGuardedFetch({ guard: signOnGuard, ca }) },
    resolveTexts: createResolveTexts({ servers }),
  });
  if (caFile === undefined) return trusting(undefined);
  try {
    return trusting(await readFile(caFile, 'utf8'));
  } catch (error) {
    throw new StartupError(`WEBHOOK_CA_FILE ${caFile} is not a PEM file with certificates: ${String(error)}`);
  }
}

/**
 * The result of one POST. Any status counts as a response, including a redirect; the caller decides which mean success.
 */
export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The delay that the server asks for in Retry-After, at most 24 hours; null if none. */
      readonly retryAfterMs: number | null;
      /** The first 1,024 bytes of the body as text, without NUL characters. */
      readonly body: string;
      readonly durationMs: number;
    }
  /** No complete response; `reason` explains it to the owner of the endpoint. */
  | { readonly kind: 'failed'; readonly reason: string; readonly durationMs: number };

export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Poster = {
  /** Sends a POST. Never rejects, and settles within 5 s. */
  post(request: PostRequest): Promise<PostResult>;
  /** Waits for requests in progress, at most 5 s. */
  close(): Promise<void>;
};

/** Covers everything: resolving, connecting, writing, and the whole response. */
const DEADLINE_MS = 5000;
const MAX_BODY_BYTES = 16 * 1024;
/** Kept bytes of a body, enough to see why a server rejects a request; the rest is counted and discarded. */
const KEPT_BODY_BYTES = 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Maximum responses with status 1xx: servers send 100 and 103 at most once. Each costs as much as a final response. */
const MAX_INTERIM_ANSWERS = 4;
/** Number of URLs whose parsed parts are cached; parsing one takes longer than signing an event. */
const MAX_CACHED_URLS = 10_000;

/**
 * Creates a client that posts to untrusted servers: over HTTPS, to addresses and ports that the guard allows, within 5
 * s. It follows no redirects, decompresses nothing and uses no proxy from the environment. After 16 KiB of body the
 * response counts as complete and the connection is closed. Connections are kept alive and reused while the server
 * allows it. The caller limits concurrent requests to one server: a limit here would make accounts with the same server
 * wait for each other.
 *
 * @param options.ca further certificate authorities (PEM) to trust
 */
export function createPoster(options: { guard: Guard; ca?: string | undefined; deadlineMs?: number }): Poster {
  const { guard, ca, deadlineMs = DEADLINE_MS } = options;
  const agent = new Agent({
    connect: createGuardedConnector({ guard, ca, timeoutMs: deadlineMs }),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    // `deadlineMs` covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 30_000,
  });
  const targets = new LRUCache<string, Target>({ max: MAX_CACHED_URLS });
  const targetOf = (url: string): Target | undefined => {
    const target = targets.get(url) ?? parseTarget(url, guard.ports);
    if (target) targets.set(url, target);
    return target;
  };
  return {
    async post({ url, headers, body }) {
      const target = targetOf(url);
      if (!target) return { kind: 'failed', reason: 'the URL is not allowed', durationMs: 0 };
      return send(agent, { ...target, method: 'POST', headers, body }, deadlineMs);
    },
    close: () => agent.close(),
  };
}

type Target = { readonly origin: string; readonly path: string };

/** Checks the port again: the operator may have disallowed it since the registration. */
function parseTarget(text: string, ports: readonly number[]): Target | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || !ports.includes(Number(url.port || 443))) return undefined;
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}

function send(agent: Agent, request: Dispatcher.DispatchOptions, deadlineMs: number): Promise<PostResult> {
  const start = performance.now();
  return new Promise((settle) => {
    let over = false;
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { status: number; retryAfterMs: number | null } | undefined;
    const kept: Buffer[] = [];
    let bodyBytes = 0;
    let interim = 0;

    function end(reason: string | null): void {
      if (over) return;
      over = true;
      clearTimeout(timer);
      const durationMs = performance.now() - start;
      // A success is one whatever becomes of its body.
      settle(
        answer && (reason === null || (answer.status >= 200 && answer.status < 300))
          ? { kind: 'answered', ...answer, body: textOf(kept), durationMs }
          : { kind: 'failed', reason: reason ?? 'the response has no status', durationMs },
      );
    }
    /** Ends the request and closes its connection, which cannot be reused unless the response is read to its end. */
    function cut(reason: string | null): void {
      end(reason);
      controller?.abort(new Error('cut'));
    }
    const timer = setTimeout(() => cut(`no complete response within ${deadlineMs / 1000} s`), deadlineMs);

    agent.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (over) controller.abort(new Error('cut'));
      },
      onResponseStart(_, status, headers) {
        if (status >= 200) answer = { status, retryAfterMs: retryAfterOf(headers['retry-after']) };
        else if (++interim > MAX_INTERIM_ANSWERS) cut('too many interim responses');
      },
      onResponseData(_, chunk) {
        if (bodyBytes < KEPT_BODY_BYTES) kept.push(chunk.subarray(0, KEPT_BODY_BYTES - bodyBytes));
        bodyBytes += chunk.length;
        if (bodyBytes > MAX_BODY_BYTES) cut(null);
      },
      onResponseEnd: () => end(null),
      onResponseError: (_, error) => end(describeFault(error)),
    });
  });
}

/** Decodes any bytes. A character cut off at the end is omitted, and so is NUL, which PostgreSQL cannot store. */
const textOf = (chunks: readonly Buffer[]): string =>
  new TextDecoder().decode(Buffer.concat(chunks), { stream: true }).replaceAll('\0', '');

const retryAfterOf = (header: string | string[] | undefined): number | null =>
  header === undefined ? null : parseRetryAfter(typeof header === 'string' ? header : header[0], Date.now());

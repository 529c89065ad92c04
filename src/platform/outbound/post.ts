import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import { createConnector } from './connect.ts';
import { describeFault } from './fault.ts';
import type { Guard } from './guard.ts';
import { parseRetryAfter } from './retry-after.ts';

/** What became of one POST. Any status is an answer, a redirect too; the caller tells which of them are good. */
export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** What the receiver asked for, at most 24 hours; null when it did not. */
      readonly retryAfterMs: number | null;
      /** The beginning of its body as text, without zero bytes. */
      readonly body: string;
      readonly durationMs: number;
    }
  /** No complete answer; why, in words for the owner of the endpoint. */
  | { readonly kind: 'failed'; readonly reason: string; readonly durationMs: number };

export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Poster = {
  /** Never rejects, and is over within 5 s. */
  post(request: PostRequest): Promise<PostResult>;
  /** Waits for what is under way, at most 5 s. */
  close(): Promise<void>;
};

/** For everything: resolving, connecting, writing, and the whole answer. */
const DEADLINE_MS = 5000;
const MAX_BODY_BYTES = 16 * 1024;
/** What a person needs to see why a receiver refuses; the rest of a body is counted and dropped. */
const KEPT_BODY_BYTES = 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Answers of 1xx: 100 and 103 are sent once, if at all. Each costs as much as an answer. */
const MAX_INTERIM = 4;
/** URLs whose parts are remembered; parsing one takes longer than signing an event. */
const URLS = 10_000;

/**
 * Posts to strangers' receivers: over HTTPS, to addresses and ports that the guard lets pass, within 5 s. No redirect
 * is followed, nothing is decompressed, no proxy of the environment is used, and after 16 KiB of body the answer counts
 * as complete and the connection is cut. Connections are kept while the receiver does, and reused. How many requests go
 * to one receiver at the same time is up to the caller: a limit here would make accounts with the same one wait for
 * each other.
 *
 * @param options.ca further authorities to trust, PEM
 */
export function createPoster(options: { guard: Guard; ca?: string | undefined; deadlineMs?: number }): Poster {
  const { guard, ca, deadlineMs = DEADLINE_MS } = options;
  const agent = new Agent({
    connect: createConnector({ guard, ca, timeoutMs: deadlineMs }),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    // One deadline is over all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 30_000,
  });
  const targets = new LRUCache<string, Target>({ max: URLS });
  const targetOf = (url: string): Target | undefined => {
    const target = targets.get(url) ?? parseTarget(url, guard.ports);
    if (target) targets.set(url, target);
    return target;
  };
  return {
    async post({ url, headers, body }) {
      const target = targetOf(url);
      if (!target) return { kind: 'failed', reason: 'the URL is not one that may be called', durationMs: 0 };
      return send(agent, { ...target, method: 'POST', headers, body }, deadlineMs);
    },
    close: () => agent.close(),
  };
}

type Target = { readonly origin: string; readonly path: string };

/** Ports may have been closed by the operator since the registration. */
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
      settle(
        reason === null && answer
          ? { kind: 'answered', ...answer, body: textOf(kept), durationMs }
          : { kind: 'failed', reason: reason ?? 'the answer has no status', durationMs },
      );
    }
    /** Of an answer that is not read to its end the connection is of no more use. */
    function cut(reason: string | null): void {
      end(reason);
      controller?.abort(new Error('cut'));
    }
    const timer = setTimeout(() => cut(`no complete answer within ${deadlineMs / 1000} s`), deadlineMs);

    agent.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (over) controller.abort(new Error('cut'));
      },
      onResponseStart(_, status, headers) {
        if (status >= 200) answer = { status, retryAfterMs: retryAfterOf(headers['retry-after']) };
        else if (++interim > MAX_INTERIM) cut('too many interim answers');
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

/** Whatever the octets are; a character that is cut at the end is left out, and PostgreSQL keeps no zero bytes. */
const textOf = (chunks: readonly Buffer[]): string =>
  new TextDecoder().decode(Buffer.concat(chunks), { stream: true }).replaceAll('\0', '');

const retryAfterOf = (header: string | string[] | undefined): number | null =>
  header === undefined ? null : parseRetryAfter(typeof header === 'string' ? header : header[0], Date.now());

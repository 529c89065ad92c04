import { Agent } from 'undici';
import { USER_AGENT } from '../lib/user-agent.ts';
import { createGuardedConnector } from './connect.ts';
import type { Guard } from './guard.ts';

/** Sends a request to an untrusted server and resolves with the whole response; the body is already in memory. */
export type GuardedFetch = (
  url: string,
  init: {
    readonly method: 'GET' | 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string | undefined;
  },
) => Promise<Response>;

/** Covers everything: resolving, connecting, writing, and the whole response. */
const DEADLINE_MS = 5000;

/** Statuses for which a Response must not have a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Creates a client that reads from untrusted servers: over HTTPS, from addresses and ports that the guard allows,
 * within 5 s. It follows no redirects, decompresses nothing, uses no proxy from the environment, and keeps no
 * connection: it is for requests that are rare. A response may have 64 KiB, headers included. Rejects if there is no
 * complete response; the error may contain addresses of our network, so show `describeFault` of it.
 *
 * @param options.ca further certificate authorities (PEM) to trust
 * @param options.maxAnswerBytes instead of 64 KiB
 */
export function createGuardedFetch(options: {
  guard: Guard;
  ca?: string | undefined;
  deadlineMs?: number;
  maxAnswerBytes?: number;
}): GuardedFetch {
  const { guard, ca, deadlineMs = DEADLINE_MS, maxAnswerBytes } = options;
  const connect = createGuardedConnector({ guard, ca, timeoutMs: deadlineMs, maxAnswerBytes });
  return async (url, { method, headers, body }) => {
    const { protocol, port, origin, pathname, search } = new URL(url);
    if (protocol !== 'https:' || !guard.ports.includes(Number(port || 443)))
      throw new Error('the URL is not allowed: it needs https and an allowed port');
    const agent = new Agent({ connect, allowH2: false, pipelining: 0, maxHeaderSize: 16 * 1024 });
    try {
      const answer = await agent.request({
        origin,
        path: `${pathname}${search}`,
        method,
        headers: { 'user-agent': USER_AGENT, ...headers },
        body: body ?? null,
        signal: AbortSignal.timeout(deadlineMs),
      });
      const octets = await answer.body.arrayBuffer();
      return new Response(BODILESS.has(answer.statusCode) ? null : octets, {
        status: answer.statusCode,
        headers: headersOf(answer.headers),
      });
    } finally {
      void agent.destroy();
    }
  };
}

function headersOf(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const each of [value ?? []].flat()) headers.append(name, each);
  return headers;
}

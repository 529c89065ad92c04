import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { SEND, STATUS } from '../../test/support/client.ts';
import { destinationOf } from '../lib/messages.ts';

const REQUESTS_PER_SECOND = 20;
/** Every fifth request comes over a new connection: one that is rejected on connect gets no response either. */
const NEW_CONNECTION_EVERY = 5;
const CONNECTIONS = 64;
/** Every tenth request reads a page, as the console does: pages take turns among themselves. */
const PAGE_EVERY = 10;
const PAGE = '/api/partner-gateway/v1/contacts?limit=10';
const TIMEOUT_MS = 60_000;
/** Number of consecutive fast requests after which the effects of an attack are considered over. */
const CALM_REQUESTS = 10;

/** One request of the victim. */
type Seen = {
  readonly startedAt: number;
  /** Null until it gets a response. */
  tookMs: number | null;
  /** 0 if the connection was closed without a response. */
  status: number;
};

/** Measurements of the victim in a part of the run. */
export type View = {
  readonly requests: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly serverErrors: number;
  /** Requests with any other response than 200, and those without one. */
  readonly refused: number;
};

/** A client that sends a message and reads its status, in turns, whatever happens to its earlier requests. */
export type Victim = {
  /** Measures from now on, until `work` is done and for `moreMs` after it, including late responses. */
  during(work: Promise<unknown>, moreMs?: number): Promise<View>;
  /** Waits until its responses come within this time again, at most until the deadline; returns how long that took. */
  untilCalm(withinMs: number, deadlineMs: number): Promise<number>;
  stop(): Promise<void>;
};

export function startVictim(origin: string, apiKey: string): Victim {
  const connect = { timeout: TIMEOUT_MS };
  const options = { connections: CONNECTIONS, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, connect };
  const kept = new Pool(origin, { ...options, pipelining: 1 });
  const fresh = new Pool(origin, { ...options, pipelining: 0 });
  const open = new Set<Promise<void>>();
  let all: Seen[] = [];
  let sent = 0;
  let lastId = 'none yet';

  async function request(n: number): Promise<number> {
    const pool = n % NEW_CONNECTION_EVERY === 0 ? fresh : kept;
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    // The first one has no earlier message to ask for.
    const sends = n % 2 === 0;
    const body = sends ? JSON.stringify({ phoneNumber: destinationOf(n), message: 'Your code is 123456' }) : null;
    const answer = await pool.request({
      method: sends ? 'POST' : 'GET',
      path: sends ? SEND : n % PAGE_EVERY === 1 ? PAGE : `${STATUS}/${lastId}`,
      headers,
      body,
    });
    const text = await answer.body.text();
    if (sends && answer.statusCode === 200) lastId = String(JSON.parse(text).messageId);
    return answer.statusCode;
  }

  async function observe(n: number): Promise<void> {
    const seen: Seen = { startedAt: performance.now(), tookMs: null, status: 0 };
    all.push(seen);
    seen.status = await request(n).catch(() => 0);
    seen.tookMs = performance.now() - seen.startedAt;
  }

  const timer = setInterval(() => {
    const observed = observe(sent++);
    open.add(observed);
    void observed.finally(() => open.delete(observed));
  }, 1000 / REQUESTS_PER_SECOND);

  return {
    async during(work, moreMs = 0) {
      const from = performance.now();
      all = all.filter(({ tookMs }) => tookMs === null);
      await work;
      await delay(moreMs);
      const to = performance.now();
      await Promise.all(open);
      return viewOf(all.filter(({ startedAt }) => startedAt >= from && startedAt < to));
    },
    async untilCalm(withinMs, deadlineMs) {
      const start = performance.now();
      const isCalm = (): boolean => {
        const last = all.slice(-CALM_REQUESTS);
        return (
          last.length === CALM_REQUESTS &&
          last.every(
            ({ startedAt, tookMs, status }) =>
              startedAt >= start && tookMs !== null && tookMs <= withinMs && status === 200,
          )
        );
      };
      while (!isCalm() && performance.now() - start < deadlineMs) await delay(1000 / REQUESTS_PER_SECOND);
      return performance.now() - start;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      await Promise.all([kept.close(), fresh.close()]);
    },
  };
}

function viewOf(seen: readonly Seen[]): View {
  const times = seen.map(({ tookMs }) => Math.round(tookMs ?? TIMEOUT_MS)).toSorted((a, b) => a - b);
  return {
    requests: seen.length,
    p99Ms: times[Math.ceil(times.length * 0.99) - 1] ?? 0,
    maxMs: times.at(-1) ?? 0,
    serverErrors: seen.filter(({ status }) => status >= 500).length,
    refused: seen.filter(({ status }) => status !== 200).length,
  };
}

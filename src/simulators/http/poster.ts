import { createHttpClient, type HttpAnswer } from '../../carriers/http/client.ts';
import { createTimeline } from '../smsc/timeline.ts';

/** One callback: a POST to the client's URL. */
export type Callback = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Result of a callback. */
export type CallbackResult = {
  readonly tries: number;
  /** The HTTP status of the last attempt; 0 without a response. */
  readonly status: number;
  readonly body: Buffer;
  readonly acked: boolean;
};

/** A queue of callbacks with repetition. */
export type Poster = {
  /**
   * Sends a callback until it gets a 200 or `callbackMaxTries` is reached. Returns false when the queue is full: the
   * callback is then lost. `done` is called once, or never when the poster is stopped before.
   */
  push(callback: Callback, done?: (result: CallbackResult) => void): boolean;
  /** Returns the number of callbacks that are waiting or in flight. */
  waiting(): number;
  /** Resolves when no callback is waiting or in flight. */
  idle(): Promise<void>;
  /** Drops all callbacks and closes the connections. */
  stop(): Promise<void>;
};

/** The behaviour of a poster; it may be changed while the poster runs. */
export type PosterScript = {
  /** Maximum concurrent POSTs. */
  callbackConcurrency: number;
  /** The wait after the first failure; it doubles with each further one. */
  callbackRetryMs: number;
  /** The longest wait after a failure. */
  callbackMaxRetryMs: number;
  callbackMaxTries: number;
  /** Maximum waiting callbacks; further ones are lost. */
  maxWaiting: number;
};

/** All defaults except `maxWaiting`, which depends on the number of events that a network puts in one request. */
export const POSTER_DEFAULTS = {
  callbackConcurrency: 8,
  callbackRetryMs: 1000,
  callbackMaxRetryMs: 60_000,
  callbackMaxTries: 20,
} satisfies Partial<PosterScript>;

type Item = { readonly callback: Callback; readonly done: (result: CallbackResult) => void; tries: number };

const TIMEOUT_MS = 10_000;
const CONNECTIONS = 64;
const COMPACT_AT = 10_000;

/** Creates a queue of callbacks, whose first attempts are made in the order of `push`. */
export function createPoster(script: PosterScript): Poster {
  const client = createHttpClient({ connections: CONNECTIONS, connectTimeoutMs: TIMEOUT_MS, timeoutMs: TIMEOUT_MS });
  const retries = createTimeline<Item>((item) => {
    ready.push(item);
    next();
  });
  let ready: Item[] = [];
  let head = 0;
  let running = 0;
  let stopped = false;
  let idlers: (() => void)[] = [];

  const waiting = (): number => ready.length - head + running + retries.size();

  function next(): void {
    while (running < script.callbackConcurrency && head < ready.length && !stopped) {
      const item = ready[head++];
      if (item) void post(item);
    }
    // Memory of sent items is released even if the queue never becomes empty.
    if (head === ready.length || head >= COMPACT_AT) [ready, head] = [ready.slice(head), 0];
  }

  async function post(item: Item): Promise<void> {
    running++;
    item.tries++;
    const answer = await client.request({ method: 'POST', ...splitUrl(item.callback.url), ...content(item.callback) });
    running--;
    if (stopped) return;
    settle(item, answer);
    next();
    if (waiting() === 0) for (const wake of idlers.splice(0)) wake();
  }

  function settle(item: Item, answer: HttpAnswer): void {
    const { tries } = item;
    const [status, body] = answer.kind === 'answered' ? [answer.status, answer.body] : [0, Buffer.alloc(0)];
    const acked = status === 200;
    if (acked || tries >= script.callbackMaxTries) return item.done({ tries, status, body, acked });
    const waitMs = Math.min(script.callbackRetryMs * 2 ** (tries - 1), script.callbackMaxRetryMs);
    retries.after(waitMs, item);
  }

  return {
    push(callback, done = () => undefined) {
      if (stopped || waiting() >= script.maxWaiting) return false;
      ready.push({ callback, done, tries: 0 });
      next();
      return true;
    },
    waiting,
    idle: () => (waiting() === 0 ? Promise.resolve() : new Promise((resolve) => void idlers.push(resolve))),
    async stop() {
      stopped = true;
      retries.stop();
      for (const wake of idlers) wake();
      idlers = [];
      await client.close();
    },
  };
}

const content = ({ headers, body }: Callback): Omit<Callback, 'url'> => ({
  headers: { 'content-type': 'application/json', ...headers },
  body,
});

/** The last URL that was split: nearly all callbacks have the same one. */
let last = { url: '', origin: '', path: '' };

function splitUrl(url: string): { origin: string; path: string } {
  if (last.url !== url) {
    const { origin, pathname, search } = new URL(url);
    last = { url, origin, path: `${pathname}${search}` };
  }
  return { origin: last.origin, path: last.path };
}

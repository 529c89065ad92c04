import { createHttpClient, type HttpAnswer } from '../../carriers/http/client.ts';
import { createTimeline } from '../smsc/timeline.ts';

/** One callback: a POST to the customer's address. */
export type Callback = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type CallbackResult = {
  readonly tries: number;
  /** What the last try was answered; 0 when it was not. */
  readonly status: number;
  readonly body: Buffer;
  readonly acked: boolean;
};

export type Poster = {
  /**
   * Posts until it is answered 200, or too often. False when too many wait already: it is lost. `done` is called once,
   * never when the poster is stopped before.
   */
  push(callback: Callback, done?: (result: CallbackResult) => void): boolean;
  /** Callbacks that wait or are under way. */
  waiting(): number;
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>;
  stop(): Promise<void>;
};

/** May be changed while it runs. */
export type PosterScript = {
  /** POSTs at the same time. */
  callbackConcurrency: number;
  /** The wait after the n-th failure doubles from here … */
  callbackRetryMs: number;
  /** … to here. */
  callbackMaxRetryMs: number;
  callbackMaxTries: number;
  /** Callbacks that may wait; the newest beyond it are lost. */
  maxWaiting: number;
};

/** All but how many may wait, which depends on how many a network sends in a request. */
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

/** Sends the callbacks of a sandbox network, in the order of their coming as far as the first tries go. */
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
    // What went out is forgotten also when the queue is never empty.
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

/** The last address that was split: nearly all callbacks go to one. */
let last = { url: '', origin: '', path: '' };

function splitUrl(url: string): { origin: string; path: string } {
  if (last.url !== url) {
    const { origin, pathname, search } = new URL(url);
    last = { url, origin, path: `${pathname}${search}` };
  }
  return { origin: last.origin, path: last.path };
}

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpClient, type HttpAnswer } from '../channels/http-client.ts';
import { createLedger, type Ledger, type LedgerOptions, type LedgerWriter, type Stamp } from './ledger.ts';
import { createTimeline } from './smsc-script.ts';

type EventResult = 'waiting' | 'acked' | 'lost';

/** One event that the simulator reports to its client by a callback. */
export type EventEntry<Kind extends string> = Stamp & {
  readonly kind: Kind;
  /** The id of the message or object that the event is about. */
  readonly id: string;
  readonly what: string;
  /** Number of times that a callback with this event was sent. */
  tries: number;
  /** `lost`: given up after the last attempt, or because the queue was full. */
  result: EventResult;
};

/** The counters that every HTTP simulator has. */
type CommonCounter = 'messages' | 'accepted' | 'refused' | 'acked' | 'lost';

type HttpEntry<Message, Kind extends string> = Message | EventEntry<Kind>;

/** The reading side of an HTTP simulator's ledger. */
export type HttpLedger<Message, Kind extends string, Counter extends string> = Ledger<
  HttpEntry<Message, Kind>,
  Counter | CommonCounter
> & {
  messages(): Message[];
  events(): EventEntry<Kind>[];
};

/** The writing side, for the simulator itself. */
export type HttpLedgerWriter<Message, Kind extends string, Counter extends string> = HttpLedger<
  Message,
  Kind,
  Counter
> &
  Pick<LedgerWriter<HttpEntry<Message, Kind>, Counter | CommonCounter>, 'count'> & {
    /** Counts and records a message and, unless null, its response; returns null when no entries are kept. */
    recordMessage(
      message: Omit<Message, keyof Stamp | 'kind'>,
      answer: string | number | null,
      isAccepted: boolean,
    ): Message | null;
    /** Records an event before its callback is sent; returns null when no entries are kept. */
    recordEvent(event: Pick<EventEntry<Kind>, 'kind' | 'id' | 'what'>): EventEntry<Kind> | null;
    /** Records how the callback of an event ended. */
    recordResult(entry: EventEntry<Kind> | null, result: { readonly acked: boolean; readonly tries: number }): void;
  };

type HttpLedgerOptions<Kind extends string, Counter extends string> = Pick<LedgerOptions, 'keep'> & {
  /** All counters, at 0. */
  readonly zero: Readonly<Record<Counter | CommonCounter, number>>;
  /** The counter of each kind of event. */
  readonly counterOf: Readonly<Record<Kind, Counter>>;
};

/** Creates the ledger of an HTTP simulator: its messages, responses and callbacks. */
export function createHttpLedger<
  Message extends Stamp & { readonly kind: 'message' },
  Kind extends string,
  Counter extends string,
>({ keep, zero, counterOf }: HttpLedgerOptions<Kind, Counter>): HttpLedgerWriter<Message, Kind, Counter> {
  type Event = EventEntry<Kind>;
  const ledger = createLedger<Message | Event, Counter | CommonCounter>({ keep }, zero);
  const { entries, count, add, change } = ledger;
  return {
    ...ledger,
    messages: () => entries().filter((entry): entry is Message => entry.kind === 'message'),
    events: () => entries().filter((entry): entry is Event => entry.kind !== 'message'),
    recordMessage(message, answer, isAccepted) {
      count('messages');
      count(isAccepted ? 'accepted' : 'refused');
      if (answer !== null) ledger.countAnswer(answer);
      // The omitted fields are those that are added here.
      return add((stamp) => ({ kind: 'message', ...stamp, ...message }) as Message);
    },
    recordEvent(event) {
      count(counterOf[event.kind]);
      return add((stamp): Event => ({ ...stamp, tries: 0, result: 'waiting', ...event }));
    },
    recordResult(entry, { acked, tries }) {
      const result = acked ? 'acked' : 'lost';
      count(result);
      change<Event>(entry, { tries, result });
    },
  };
}

/** One callback: a POST to the client's URL. */
type Callback = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

type CallbackResult = {
  readonly tries: number;
  /** The HTTP status of the last attempt; 0 without a response. */
  readonly status: number;
  readonly body: Buffer;
  readonly acked: boolean;
};

/** A queue of callbacks with repetition. */
type Poster = {
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

export type SandboxRequest = {
  readonly method: string;
  /** The path without the query, as received: it may be percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** The response of a simulator to an HTTP request. */
export type SandboxAnswer =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Objects are sent as JSON, strings and buffers unchanged. */
      readonly body: object | string | Buffer;
    }
  /** No response: the connection stays open. */
  | 'silent'
  | 'cut';

/** Handles requests; an error becomes a 500. */
type Handler = (request: SandboxRequest) => SandboxAnswer | Promise<SandboxAnswer>;

/** A running HTTP server of a simulator. */
export type SandboxServer = {
  readonly port: number;
  readonly url: string;
  /** Closes every connection abruptly. */
  cut(): void;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
};

type ServerOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  /** Maximum size of a request body. */
  readonly maxBytes: number;
  readonly handle: Handler;
};

/**
 * Starts a plain HTTP server for a simulator. Bodies longer than `maxBytes` get a 413. Rejects when the port is not
 * available.
 */
export async function startServer(options: ServerOptions): Promise<SandboxServer> {
  const { host = '127.0.0.1', port = 0, maxBytes, handle } = options;
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    request.on('error', () => undefined);
    receive(request, maxBytes, (body) => {
      if (body === null) return send(response, { status: 413, body: 'Payload too large' });
      void respond(handle, read(request, body), response);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const { port: bound } = addressOf(server.address());
  return {
    port: bound,
    url: `http://${host}:${bound}`,
    cut: () => server.closeAllConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function addressOf(address: string | AddressInfo | null): { readonly port: number } {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address;
}

function receive(request: IncomingMessage, maxBytes: number, done: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  });
  request.on('end', () => done(bytes <= maxBytes ? Buffer.concat(chunks) : null));
}

function read(request: IncomingMessage, body: Buffer): SandboxRequest {
  const { method = '', url = '', headers } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  return { method, path, query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)), headers, body };
}

async function respond(handle: Handler, request: SandboxRequest, response: ServerResponse): Promise<void> {
  try {
    const answer = handle(request);
    send(response, answer instanceof Promise ? await answer : answer);
  } catch (error) {
    send(response, { status: 500, body: error instanceof Error ? error.message : String(error) });
  }
}

function send(response: ServerResponse, answer: SandboxAnswer): void {
  if (answer === 'silent') return;
  if (answer === 'cut') return void response.socket?.destroy();
  const { status, body } = answer;
  const [type, octets] = encode(body);
  const headers = { 'content-type': type, 'content-length': octets.length, ...answer.headers };
  response.writeHead(status, headers).end(octets);
}

function encode(body: object | string | Buffer): [string, Buffer] {
  if (Buffer.isBuffer(body)) return ['application/octet-stream', body];
  if (typeof body === 'string') return ['text/plain; charset=utf-8', Buffer.from(body)];
  return ['application/json; charset=UTF-8', Buffer.from(JSON.stringify(body))];
}

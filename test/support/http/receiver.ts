import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createListener, type Socket } from 'node:net';
import { until } from '../until.ts';
import { TEST_CERT, TEST_KEY } from './certificate.ts';

/** Response of a receiver: a proper one, possibly after a delay, or one of the bad manners below. */
export type ReceiverAnswer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
  readonly manner?: Manner;
};

export type Manner = keyof typeof MANNERS;

export type Received = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time at which the request was complete, in ms since 1970. */
  readonly at: number;
  /** Time at which the response was complete or cut off; null until then. */
  endedAt: number | null;
};

export type Receiver = AsyncDisposable & {
  readonly port: number;
  /** All ports that it listens on, `port` first. */
  readonly ports: readonly number[];
  /** `https://localhost:<port>`; its certificate is `TEST_CERT`. */
  readonly url: string;
  /** All requests, in the order in which they were complete. */
  readonly requests: readonly Received[];
  /** The number of connections that were ever made to it. */
  readonly connections: () => number;
  /** Sets the responses from now on; by default 200 without a body. */
  answer(answer: ReceiverAnswer | ((request: Received) => ReceiverAnswer)): void;
  /** Resolves with the first `count` requests, as soon as there are as many. */
  received(count: number): Promise<readonly Received[]>;
};

/**
 * Starts an HTTPS server on this machine that records requests and responds as instructed, however badly.
 *
 * @param options.ports the number of ports to listen on; to clients that keep connections, each is a separate server
 * @param options.records whether `requests` has them; false for runs of hours, whose responses count what they need
 */
export async function startReceiver(options: { ports?: number; records?: boolean } = {}): Promise<Receiver> {
  const requests: Received[] = [];
  let answerTo: (request: Received) => ReceiverAnswer = () => ({});
  let connections = 0;
  const server = createServer({ cert: TEST_CERT, key: TEST_KEY, keepAliveTimeout: 60_000 }, (message, response) => {
    void read(message).then((received) => {
      if (options.records !== false) requests.push(received);
      response.once('close', () => {
        received.endedAt = Date.now();
      });
      reply(response, answerTo(received));
    });
  });
  const listeners = await Promise.all(
    Array.from({ length: options.ports ?? 1 }, () =>
      listen((socket) => {
        connections++;
        server.emit('connection', socket);
      }),
    ),
  );
  const ports = listeners.map((listener) => listener.port);
  const [port = 0] = ports;
  return {
    port,
    ports,
    url: `https://localhost:${port}`,
    requests,
    connections: () => connections,
    answer(answer) {
      answerTo = typeof answer === 'function' ? answer : () => answer;
    },
    async received(count) {
      await until(`${count} requests`, () => requests.length >= count);
      return requests.slice(0, count);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

/** Listens on a free port and serves what connects. */
async function listen(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const listener = createListener((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    onSocket(socket);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return {
    port: address.port,
    async close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}

async function read(message: IncomingMessage): Promise<Received> {
  let body = '';
  for await (const chunk of message) body += String(chunk);
  const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]));
  return { method: message.method ?? '', path: message.url ?? '', headers, body, at: Date.now(), endedAt: null };
}

function reply(response: ServerResponse, answer: ReceiverAnswer): void {
  response.on('error', () => undefined);
  const { status = 200, headers = {}, body = '', delayMs = 0, manner } = answer;
  const write = (): unknown => (manner ? MANNERS[manner](response) : response.writeHead(status, headers).end(body));
  if (delayMs === 0) write();
  else setTimeout(write, delayMs);
}

const DRIP_MS = 200;
const CHUNK = Buffer.alloc(64 * 1024, 'x');
/** The first bytes of a gzip file, from which a client begins to unpack. */
const GZIP = Buffer.from('1f8b0800000000000003', 'hex');

/** Writes without end, until the other side closes the connection. */
function writeEndlessly(response: ServerResponse, chunk: Buffer | string, everyMs: number): void {
  const target = response.socket;
  if (!target) return;
  target.on('error', () => undefined);
  const more = (): void => {
    if (target.destroyed) return;
    if (everyMs > 0) setTimeout(more, everyMs);
    else if (target.writableNeedDrain) target.once('drain', more);
    else setImmediate(more);
    target.write(chunk);
  };
  more();
}

const ENDLESS = Buffer.concat([Buffer.from(`${CHUNK.length.toString(16)}\r\n`), CHUNK, Buffer.from('\r\n')]);
const HEADER = Buffer.from(`X-Bomb: ${'x'.repeat(8000)}\r\n`);
const INTERIM = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100));
const NOTHING = Buffer.alloc(CHUNK.length);

const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}`;

/** Bad manners. Each writes to the socket itself, because Node would refuse to. */
const MANNERS = {
  /** Takes the request and sends nothing. */
  silent: () => undefined,
  close: (response) => response.socket?.destroy(),
  /** A 200, and then an endless body as fast as it is read. */
  endless: (response) => {
    response.socket?.write(head('Transfer-Encoding: chunked\r\n\r\n'));
    writeEndlessly(response, ENDLESS, 0);
  },
  /** A 200, and then a long body, one byte at a time. */
  drip: (response) => {
    response.socket?.write(head('Content-Length: 10000\r\n\r\n'));
    writeEndlessly(response, 'x', DRIP_MS);
  },
  /** The headers, one byte at a time. */
  'drip headers': (response) => {
    response.socket?.write(head('X-Slow: '));
    writeEndlessly(response, 'x', DRIP_MS);
  },
  /** Endless headers as fast as they are read. */
  'header bomb': (response) => {
    response.socket?.write(head(''));
    writeEndlessly(response, HEADER, 0);
  },
  /** Endless interim responses. */
  'interim responses': (response) => writeEndlessly(response, INTERIM, 0),
  /** One byte of a body, and then endless chunk extensions. */
  'chunk extensions': (response) => {
    response.socket?.write(head('Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1;'));
    writeEndlessly(response, CHUNK, 0);
  },
  /** A few bytes on the wire that unpack to gigabytes. */
  'gzip bomb': (response) => {
    response.socket?.write(head('Content-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n'));
    response.socket?.write(GZIP);
    writeEndlessly(response, NOTHING, 0);
  },
  /** Not HTTP at all. */
  garbage: (response) => response.socket?.end('220 mail.example.com ESMTP\r\n'),
} satisfies Record<string, (response: ServerResponse) => unknown>;

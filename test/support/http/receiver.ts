import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createDoor, type Socket } from 'node:net';
import { TEST_CERT, TEST_KEY } from './certificate.ts';
import { until } from '../until.ts';

/** How a receiver answers: as a good one, after a while if wanted, or else in one of the manners below. */
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
  /** ms since 1970. */
  readonly at: number;
  /** When it was answered to the end or cut off; null until then. */
  endedAt: number | null;
};

export type Receiver = AsyncDisposable & {
  readonly port: number;
  /** All that it listens at, `port` first. */
  readonly ports: readonly number[];
  /** `https://localhost:<port>`; for the certificate, see certificate.ts. */
  readonly url: string;
  /** In the order in which they were complete. */
  readonly requests: readonly Received[];
  /** Connections that were made to it, ever. */
  readonly connections: () => number;
  /** From now on; by default 200 without a body. */
  answer(answer: ReceiverAnswer | ((request: Received) => ReceiverAnswer)): void;
  /** The first `count` requests, as soon as there are so many. */
  received(count: number): Promise<readonly Received[]>;
};

/**
 * An HTTPS server on this machine that records what it is sent and answers as it is told, however badly.
 *
 * @param options.ports at how many ports it listens: to clients that keep connections, each is a server of its own
 */
export async function startReceiver(options: { ports?: number } = {}): Promise<Receiver> {
  const requests: Received[] = [];
  let answerTo: (request: Received) => ReceiverAnswer = () => ({});
  let connections = 0;
  const server = createServer({ cert: TEST_CERT, key: TEST_KEY, keepAliveTimeout: 60_000 }, (message, response) => {
    void read(message).then((received) => {
      requests.push(received);
      response.once('close', () => {
        received.endedAt = Date.now();
      });
      reply(response, answerTo(received));
    });
  });
  const doors = await Promise.all(
    Array.from({ length: options.ports ?? 1 }, () =>
      openDoor((socket) => {
        connections++;
        server.emit('connection', socket);
      }),
    ),
  );
  const ports = doors.map((door) => door.port);
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
      await Promise.all(doors.map((door) => door.close()));
    },
  };
}

/** A free port of this machine, and what to do with who comes. */
async function openDoor(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const door = createDoor((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    onSocket(socket);
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const address = door.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return {
    port: address.port,
    async close() {
      door.close();
      for (const socket of sockets) socket.destroy();
      await once(door, 'close');
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
/** The first bytes of a gzip file; who unpacks starts at once. */
const GZIP = Buffer.from('1f8b0800000000000003', 'hex');

/** Until the other side has had enough. */
function pour(response: ServerResponse, chunk: Buffer | string, everyMs: number): void {
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

/** Bad manners. Each writes to the socket itself, since Node would not. */
const MANNERS = {
  /** Takes the request and says nothing. */
  silent: () => undefined,
  close: (response) => response.socket?.destroy(),
  /** Good news, and then a body without end as fast as it is read. */
  endless: (response) => {
    response.socket?.write(head('Transfer-Encoding: chunked\r\n\r\n'));
    pour(response, ENDLESS, 0);
  },
  /** Good news, and then one byte of a long body at a time. */
  drip: (response) => {
    response.socket?.write(head('Content-Length: 10000\r\n\r\n'));
    pour(response, 'x', DRIP_MS);
  },
  /** The same with the headers. */
  'drip headers': (response) => {
    response.socket?.write(head('X-Slow: '));
    pour(response, 'x', DRIP_MS);
  },
  /** Headers without end as fast as they are read. */
  'header bomb': (response) => {
    response.socket?.write(head(''));
    pour(response, HEADER, 0);
  },
  /** Interim answers without end. */
  'interim answers': (response) => pour(response, INTERIM, 0),
  /** One byte of a body, and then what belongs to no body, without end. */
  'chunk extensions': (response) => {
    response.socket?.write(head('Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1;'));
    pour(response, CHUNK, 0);
  },
  /** A little on the wire that would be gigabytes unpacked. */
  'gzip bomb': (response) => {
    response.socket?.write(head('Content-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n'));
    response.socket?.write(GZIP);
    pour(response, NOTHING, 0);
  },
  /** Not HTTP. */
  garbage: (response) => response.socket?.end('220 mail.example.com ESMTP\r\n'),
} satisfies Record<string, (response: ServerResponse) => unknown>;

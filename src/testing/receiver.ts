import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { TEST_CERT, TEST_KEY } from './certificate.ts';
import { until } from './until.ts';

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
};

export type Receiver = AsyncDisposable & {
  readonly port: number;
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

/** An HTTPS server on this machine that records what it is sent and answers as it is told, however badly. */
export async function startReceiver(options: { host?: string; port?: number } = {}): Promise<Receiver> {
  const requests: Received[] = [];
  let answerTo: (request: Received) => ReceiverAnswer = () => ({});
  let connections = 0;
  const server = createServer({ cert: TEST_CERT, key: TEST_KEY, keepAliveTimeout: 60_000 }, (message, response) => {
    void read(message).then((received) => {
      requests.push(received);
      reply(response, answerTo(received));
    });
  });
  server.on('connection', () => connections++);
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return {
    port: address.port,
    url: `https://localhost:${address.port}`,
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
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function read(message: IncomingMessage): Promise<Received> {
  let body = '';
  for await (const chunk of message) body += String(chunk);
  const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]));
  return { method: message.method ?? '', path: message.url ?? '', headers, body, at: Date.now() };
}

function reply(response: ServerResponse, answer: ReceiverAnswer): void {
  response.on('error', () => undefined);
  const { status = 200, headers = {}, body = '', delayMs = 0, manner } = answer;
  const write = (): unknown => (manner ? MANNERS[manner](response) : response.writeHead(status, headers).end(body));
  if (delayMs === 0) write();
  else setTimeout(write, delayMs);
}

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

const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}`;

/** Bad manners. Each writes to the socket itself, since Node would not. */
const MANNERS = {
  /** Takes the request and says nothing. */
  silent: () => undefined,
  close: (response) => response.socket?.destroy(),
  /** Good news, and then a body without end as fast as it is read. */
  endless: (response) => {
    response.socket?.write(head('Transfer-Encoding: chunked\r\n\r\n'));
    pour(response, `${CHUNK.length.toString(16)}\r\n${CHUNK.toString()}\r\n`, 0);
  },
  /** Good news, and then one byte of a long body at a time. */
  drip: (response) => {
    response.socket?.write(head('Content-Length: 10000\r\n\r\n'));
    pour(response, 'x', 50);
  },
  /** The same with the headers. */
  'drip headers': (response) => {
    response.socket?.write(head('X-Slow: '));
    pour(response, 'x', 50);
  },
  /** Headers without end as fast as they are read. */
  'header bomb': (response) => {
    response.socket?.write(head(''));
    pour(response, `X-Bomb: ${'x'.repeat(8000)}\r\n`, 0);
  },
  /** Interim answers without end. */
  'interim answers': (response) => pour(response, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100), 0),
  /** A little on the wire that would be gigabytes unpacked. */
  'gzip bomb': (response) => {
    response.socket?.write(head('Content-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n'));
    response.socket?.write(GZIP);
    pour(response, Buffer.alloc(CHUNK.length), 0);
  },
  /** Not HTTP. */
  garbage: (response) => response.socket?.end('220 mail.example.com ESMTP\r\n'),
} satisfies Record<string, (response: ServerResponse) => unknown>;

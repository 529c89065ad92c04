import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { destinationOf } from './traffic.ts';

/** Requests to one server. `{to}` in their text stands for a number, `destinationOf` from `first` on, without the plus. */
export type Requests = {
  readonly url: string;
  /** The path and the query; nothing else of the URL is sent. */
  readonly target: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly first: number;
  readonly count: number;
  /** The status that each response must have. */
  readonly status: number;
  /** 64 unless given. */
  readonly sockets?: number;
};

const SOCKETS = 64;
/** Sockets that connect at the same time: fewer than the backlog of any server, which would reset the others. */
const CONNECTING = 32;
const PLACE = '{to}';
const numberOf = (n: number): string => destinationOf(n).slice(1);

/**
 * Sends requests from a separate process over sockets that stay open, each the next as soon as it has a response.
 * Resolves when all have theirs. Throws when a response has another status.
 */
export async function sendRequests(requests: Requests): Promise<void> {
  const child = fork(import.meta.filename, [JSON.stringify(requests)], { execArgv: [] });
  let failure = 'the process that sends has ended early';
  child.once('message', (message: string) => (failure = message));
  await once(child, 'exit');
  if (failure !== '') throw new Error(failure);
}

async function send(requests: Requests): Promise<void> {
  const { hostname, port } = new URL(requests.url);
  const text = textOf(requests, `${hostname}:${port}`);
  let next = requests.first;
  const end = requests.first + requests.count;
  const nextText = (): string | null => (next < end ? text.replaceAll(PLACE, numberOf(next++)) : null);
  async function exchangeNext(socket: Socket): Promise<boolean> {
    const request = nextText();
    if (request !== null) await exchange(socket, request, requests.status);
    return request !== null;
  }
  async function open(): Promise<Socket> {
    // An error closes the socket, which ends the exchange.
    const socket = connect(Number(port), hostname)
      .setNoDelay()
      .on('error', () => undefined);
    await once(socket, 'connect');
    await exchangeNext(socket);
    return socket;
  }
  async function exchangeAll(socket: Socket): Promise<void> {
    while (await exchangeNext(socket));
    socket.destroy();
  }
  const working: Promise<void>[] = [];
  for (let left = requests.sockets ?? SOCKETS; left > 0; left -= CONNECTING) {
    const opened = await Promise.all(Array.from({ length: Math.min(left, CONNECTING) }, open));
    working.push(...opened.map(exchangeAll));
  }
  await Promise.all(working);
}

function textOf({ target, method, headers, body }: Requests, host: string): string {
  const { length } = body.replaceAll(PLACE, numberOf(0));
  const all = { host, ...headers, ...(body !== '' && { 'content-length': String(length) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines, '', body].join('\r\n');
}

/** Sends one request; resolves when its response is complete. Responses must state their length. */
function exchange(socket: Socket, request: string, status: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let answer = '';
  const onData = (bytes: Buffer): void => {
    answer += bytes.toString('latin1');
    const head = answer.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(answer.slice(0, head))?.[1]);
    if (answer.length < head + 4 + length) return;
    if (answer.startsWith(`HTTP/1.1 ${status} `)) resolve();
    else reject(new Error(`unexpected response: ${answer}`));
  };
  const onClose = (): void => reject(new Error(`the server closed the connection: ${answer}`));
  socket.on('data', onData).once('close', onClose).write(request);
  return promise.finally(() => socket.off('data', onData).off('close', onClose));
}

if (import.meta.main) {
  const failure = await send(JSON.parse(process.argv[2] ?? '') as Requests).then(
    () => '',
    (error: unknown) => String(error),
  );
  process.send?.(failure);
  process.disconnect?.();
}

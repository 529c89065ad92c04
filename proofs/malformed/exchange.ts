import net from 'node:net';
import { Pool } from 'undici';
import type { RawRequest } from './fixed.ts';
import type { Wire } from './generate.ts';

/** One response to a request: the checked part of its head, and its body. */
export type Reply = {
  readonly status: number;
  readonly requestId: string;
  readonly retryAfter: string;
  /** 'true' if an earlier response was replayed for the same Idempotency-Key. */
  readonly replayed: string;
  readonly body: string;
};

/** The responses to one request. `silent`: there was neither a response nor a closed connection within the deadline. */
export type Outcome = { readonly replies: readonly Reply[]; readonly silent: boolean };

/** No response takes this long, however busy the machine is: whatever does, hangs. */
const DEADLINE_MS = 30_000;

/** Sends requests over a few persistent connections. */
export function createSender(origin: string, connections: number, apiKey: () => string) {
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: DEADLINE_MS, bodyTimeout: DEADLINE_MS });
  return {
    async send({ method, path, headers, body }: Wire): Promise<Outcome> {
      try {
        const request = { method, path, headers: { 'x-api-key': apiKey(), ...headers }, body: body ?? null };
        const { statusCode: status, headers: head, body: answer } = await pool.request(request);
        const text = await answer.text();
        const reply = {
          status,
          requestId: String(head['x-request-id'] ?? ''),
          retryAfter: String(head['retry-after'] ?? ''),
          replayed: String(head['idempotency-replayed'] ?? ''),
        };
        return { replies: [{ ...reply, body: text }], silent: false };
      } catch (error) {
        return { replies: [], silent: isTimeout(error) };
      }
    },
    close: () => pool.close(),
  };
}

const isTimeout = (error: unknown): boolean => error instanceof Error && /Timeout/.test(error.name);

/**
 * After this time without a response the client ends its side of the connection: some requests are incomplete before that.
 * Node then drops a request that it has not responded to yet, so this is longer than a response takes on a busy machine.
 */
const HALF_CLOSE_MS = 5_000;
const HEAD_CHUNKS = 5;

/** Writes the bytes and reads everything until the server closes the connection. */
export const sendBytes = (port: number, { bytes, answers }: RawRequest): Promise<Outcome> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const replies = () => repliesIn(Buffer.concat(chunks).toString('latin1'));
    const end = (silent: boolean): void => {
      clearTimeout(deadline);
      clearTimeout(halfClose);
      socket.destroy();
      resolve({ replies: replies(), silent });
    };
    const deadline = setTimeout(() => end(true), DEADLINE_MS);
    const halfClose = setTimeout(() => socket.end(), HALF_CLOSE_MS);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      // Checking a long response again after each of its chunks would take too long.
      if (chunks.length <= HEAD_CHUNKS && replies().length >= answers) socket.end();
    });
    socket.on('close', () => end(false));
    socket.on('error', () => undefined);
    socket.write(bytes);
  });

/** Parses the final responses in what a server wrote; 1xx responses only announce another one. */
function repliesIn(text: string): Reply[] {
  const heads = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [\s\S]*?\r\n\r\n/g)];
  return heads.flatMap((head, n) => {
    const status = Number(head[1]);
    if (status < 200) return [];
    const field = (name: string): string => new RegExp(`^${name}: (.*?)\\r$`, 'im').exec(head[0])?.[1] ?? '';
    const body = text.slice(head.index + head[0].length, heads[n + 1]?.index);
    return [
      {
        status,
        requestId: field('x-request-id'),
        retryAfter: field('retry-after'),
        replayed: field('idempotency-replayed'),
        body: unchunked(head[0], body),
      },
    ];
  });
}

const unchunked = (head: string, body: string): string =>
  /^transfer-encoding: chunked/im.test(head) ? body.replace(/^[0-9a-f]+\r\n|\r\n(?:[0-9a-f]+\r\n)?/gm, '') : body;

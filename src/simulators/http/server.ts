import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP request to a simulator. */
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
  /** The connection is cut. */
  | 'cut';

/** Handles requests; an error becomes a 500. */
export type Handler = (request: SandboxRequest) => SandboxAnswer | Promise<SandboxAnswer>;

/** A running HTTP server of a simulator. */
export type SandboxServer = {
  readonly port: number;
  readonly url: string;
  /** Closes every connection abruptly. */
  cut(): void;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
};

/** The options of a simulator's HTTP server. */
export type ServerOptions = {
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

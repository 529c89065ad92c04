import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EndConnection } from '../client-error.ts';
import type { Refusal } from './refusals.ts';

/** A body may have this many chunks, whatever their size; programs that stream a small body send less. */
const FREE_CHUNKS = 2000;
/** Minimum average size in bytes of the chunks of a body with more than `FREE_CHUNKS`. */
const MIN_AVERAGE_OCTETS = 16;
/** Time for the client to read the response to a request that it is still sending. */
const LINGER_MS = 2000;

type Options = { readonly end: EndConnection; readonly count: (bound: Refusal) => void };

/**
 * Limits the cost of the chunks of a body. However small, each costs about a microsecond and an object of 100 bytes: a
 * body of one byte a chunk delayed all others for 100 ms each 600 KiB, and took a hundred times its size in memory. A
 * body of too many small chunks gets 413 (CHUNKS). The rest of a chunked body that already has its response is
 * discarded without being parsed, and the connection is closed after two seconds.
 */
export function boundChunks(server: Server, { end, count }: Options): void {
  const watch = (request: IncomingMessage, response: ServerResponse): void => {
    const { headers, socket } = request;
    if (headers['transfer-encoding'] === undefined) return;
    refuseSmallChunks(request, () => {
      discardRest(socket);
      count('chunks');
      end(socket, TOO_MANY);
    });
    response.once('finish', () => {
      if (request.complete) return;
      discardRest(socket);
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    });
  };
  server.on('request', watch).on('checkExpectation', watch);
}

const TOO_MANY = { status: 413, message: 'The body has too many small chunks', code: 'CHUNKS' } as const;

/** Hooks the method to which Node's parser hands each chunk, even while nothing reads the body. */
function refuseSmallChunks(request: IncomingMessage, refuse: () => void): void {
  let [chunks, octets, refused] = [0, 0, false];
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    // Called again for the rest of the bytes that are being parsed.
    if (refused) return true;
    if (chunk !== null) {
      chunks++;
      octets += chunk.length;
      refused = chunks > FREE_CHUNKS && octets < chunks * MIN_AVERAGE_OCTETS;
    }
    if (!refused) return Object.getPrototypeOf(request).push.call(request, chunk, encoding);
    refuse();
    return true;
  };
}

/**
 * Takes the connection from the parser. Further input is read, since a client may only then read its response. The
 * parser would treat the end as an error, and respond to that as well.
 */
function discardRest(socket: Socket): void {
  socket.removeAllListeners('data');
  socket.on('data', () => undefined);
  socket.prependOnceListener('end', () => socket.destroy());
  socket.resume();
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that wait on one connection. Clients that pipeline at all send a few dozen; one read holds some 1,500. */
const MAX_WAITING = 100;

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];

/**
 * Handles one request of a connection at a time, and reads no further while one waits. Node hands over all pipelined
 * requests (RFC 9112 §9.3.2) of a read in one piece: 64 KiB of them took 0.2 s of the event loop, and 50 connections
 * 10 s. With this, other connections come in between. A connection with more than 100 waiting requests is closed, after
 * `refused` was called.
 */
export function oneAtATime(handle: RequestListener, refused: () => void): RequestListener {
  /** What waits, by connection. A connection has an entry while one of its requests is at work. */
  const waiting = new WeakMap<Socket, Exchange[]>();

  function begin(socket: Socket, [request, response]: Exchange): void {
    response.once('close', () => {
      if (waiting.get(socket)?.length === 0) waiting.delete(socket);
      // A turn of the event loop for the others.
      else setImmediate(beginNext, socket);
    });
    void handle(request, response);
  }

  function beginNext(socket: Socket): void {
    const exchanges = waiting.get(socket);
    const next = exchanges?.shift();
    if (next === undefined || socket.destroyed) return void waiting.delete(socket);
    if (exchanges?.length === 0) socket.resume();
    begin(socket, next);
  }

  return (request, response) => {
    const { socket } = request;
    const exchanges = waiting.get(socket);
    if (exchanges === undefined) {
      waiting.set(socket, []);
      return begin(socket, [request, response]);
    }
    // The rest of what was read arrives although the connection is closed.
    if (socket.destroyed) return;
    if (exchanges.length < MAX_WAITING) {
      exchanges.push([request, response]);
      socket.pause();
      return;
    }
    refused();
    socket.destroy();
  };
}

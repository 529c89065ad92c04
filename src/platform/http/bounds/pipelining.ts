import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../../lib/address.ts';
import { createRateLimiter, type Rate } from '../../lib/limits/rate-limit.ts';
import type { Refusal } from './refusals.ts';

/** Waiting requests of all connections that begin in one turn of the event loop: some 1.5 ms of work. */
const BEGIN_PER_TURN = 8;
/**
 * Requests that may wait behind the one in progress. Most clients send the next one after a response, a few send ten
 * ahead.
 */
const MAX_WAITING = 64;
/** Floods of an address. Node parses a read of 64 KiB, a thousand requests in 17 ms, before any limit can apply. */
const FLOODS: Rate = { perMinute: 3, perSecond: 3 };

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];

/**
 * Handles one request of a connection at a time, and reads no further while others wait. Node hands over all pipelined
 * requests (RFC 9112 §9.3.2) of a read in one piece: 64 KiB of them took 0.2 s of the event loop, and 50 connections 10
 * s. Here the first request of a connection begins immediately, and of those that wait behind one only a few in each
 * turn of the event loop, connections in turn. A connection with more than 64 waiting goes to `endFlood`, once.
 */
export function oneAtATime(handle: RequestListener, endFlood: (socket: Socket) => void): RequestListener {
  /** Waiting requests by connection. A connection has an entry while one of its requests is in progress or waits. */
  const waiting = new WeakMap<Socket, Exchange[]>();
  /** Connections with a waiting request and none in progress. */
  const ready = new Set<Socket>();

  function begin(socket: Socket, [request, response]: Exchange): void {
    response.once('close', () => {
      if (waiting.get(socket)?.length === 0) return void waiting.delete(socket);
      if (ready.size === 0) setImmediate(beginSome);
      ready.add(socket);
    });
    void handle(request, response);
  }

  function beginSome(): void {
    let begun = 0;
    for (const socket of ready) {
      if (begun++ === BEGIN_PER_TURN) break;
      ready.delete(socket);
      beginNext(socket);
    }
    if (ready.size > 0) setImmediate(beginSome);
  }

  function beginNext(socket: Socket): void {
    const exchanges = waiting.get(socket);
    const next = exchanges?.shift();
    if (next === undefined || socket.destroyed) return void waiting.delete(socket);
    if (exchanges?.length === 0) readOn(socket);
    begin(socket, next);
  }

  return (request, response) => {
    const { socket } = request;
    // Rest of a read from a closed connection.
    if (socket.destroyed) return;
    const exchanges = waiting.get(socket);
    if (exchanges === undefined) {
      waiting.set(socket, []);
      return begin(socket, [request, response]);
    }
    if (exchanges.length === MAX_WAITING) return endFlood(socket);
    if (exchanges.length === 0) stopReading(socket);
    exchanges.push([request, response]);
  };
}

/** Ends connections that flood with pipelined requests, and for a minute new connections from their addresses. */
export type Floods = {
  end(socket: Socket): void;
  /** Returns false if the address of this new connection has flooded. */
  accept(socket: Socket): boolean;
};

type FloodOptions = {
  /** Returns true if an address belongs to TRUST_PROXY: it carries the requests of many clients, and is not barred. */
  readonly isTrusted: (address: string | undefined) => boolean;
  readonly count: (bound: Refusal) => void;
};

export function createFloods({ isTrusted, count }: FloodOptions): Floods {
  const limiter = createRateLimiter();
  const open = new Map<string, Set<Socket>>();
  return {
    end(socket) {
      count('pipelining');
      socket.destroy();
      const { remoteAddress } = socket;
      const network = networkOf(remoteAddress);
      if (isTrusted(remoteAddress) || limiter.take(network, FLOODS).remaining > 0) return;
      // Others waiting to be read would each take 17 ms. Those of a customer behind the same address have been read.
      for (const other of open.get(network) ?? []) if (other.bytesRead === 0) other.destroy();
    },
    accept(socket) {
      const { remoteAddress } = socket;
      if (isTrusted(remoteAddress)) return true;
      const network = networkOf(remoteAddress);
      if (!limiter.peek(network, FLOODS).allowed) return false;
      const sockets = open.get(network) ?? new Set();
      open.set(network, sockets.add(socket));
      socket.once('close', () => {
        sockets.delete(socket);
        if (sockets.size === 0) open.delete(network);
      });
      return true;
    },
  };
}

/** Node resumes a socket at the end of each request, for the next one, which is here already. */
function stopReading(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}

function readOn(socket: Socket): void {
  Reflect.deleteProperty(socket, 'resume');
  socket.resume();
}

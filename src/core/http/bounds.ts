import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../address.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { createFairBudget, type Shortage } from '../limits.ts';
import type { Log } from '../log.ts';
import { type App, optionsOf } from './app.ts';
import type { EndConnection } from './errors.ts';
import {
  boundConnections,
  type Floods,
  markUnauthenticatedRoutes,
  isKnownCaller,
  limitFailures,
  type Refusal,
} from './unauthenticated.ts';

type Options = {
  readonly config: Pick<Config, 'bounds'>;
  readonly count: (bound: Refusal) => void;
  readonly isTrusted: (address: string | undefined) => boolean;
  readonly end: EndConnection;
  readonly floods: Floods;
  readonly log: Log;
};

/**
 * Limits the resources that clients may hold, and the failures of unauthenticated clients. Call it after the hooks that
 * reject requests without reading them, and before the routes are registered.
 */
export function applyBounds(app: App, { config: { bounds }, count, isTrusted, end, floods, log }: Options): void {
  boundConnections(app.server, { bounds, isTrusted, count, floods, log });
  boundChunks(app.server, { end, count });
  const stop = endSlowBodies(app.server, { end, count });
  app.addHook('onClose', (_app, done) => {
    stop();
    done();
  });
  markUnauthenticatedRoutes(app);
  limitFailures(app, count);
  boundBodies(app, { bounds, end, count });
}

/** Bodies of up to this size are not counted: the number of connections limits them. */
const FREE_BYTES = 16 * 1024;
/**
 * Parts of `MAX_BODY_MIB`: that of one account, and on top of it those of all callers without credentials together, and
 * of one address among them.
 */
export const BODY_SHARES = { account: 1 / 4, unauthenticated: 1 / 4, address: 1 / 32 };
const RETRY_AFTER_SECONDS = 5;

type BodyOptions = {
  readonly bounds: Config['bounds'];
  readonly end: EndConnection;
  readonly count: (bound: Refusal) => void;
};

/**
 * Limits the request bodies that are held in memory, before they are read: those of callers with valid credentials, in
 * total and by account, and those of unauthenticated clients, in total and by address. Each part is divided fairly:
 * when it is used up, the caller with the most has to give up a body that is still arriving. A body counts with its
 * declared length, or without one with the maximum that its route accepts, until the response is sent.
 */
function boundBodies(app: App, { bounds, end, count }: BodyOptions): void {
  const { bodyBytes } = bounds;
  const { account, unauthenticated: others, address } = BODY_SHARES;
  const callers = createFairBudget({ all: bodyBytes, perCaller: bodyBytes * account });
  const unauthenticated = createFairBudget({ all: bodyBytes * others, perCaller: bodyBytes * address });

  app.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = heldBytes(request);
    if (bytes <= FREE_BYTES) return done(null, payload);
    const cut = (): boolean => cutBody(request, reply, end, count);
    const taken = isKnownCaller(request)
      ? callers.take(nameOf(request), bytes, cut)
      : unauthenticated.take(nameOf(request), bytes, cut);
    if (typeof taken === 'string') {
      count(taken === 'all' ? 'bodies' : 'bodies_of_caller');
      return done(shortageError(taken), payload);
    }
    // The client may have disconnected while its credentials were checked.
    if (reply.raw.closed) taken();
    else reply.raw.once('close', taken);
    done(null, payload);
  });
}

const nameOf = (request: FastifyRequest): string | number => actorOf(request)?.accountId ?? networkOf(request.ip);

/** Returns the actor; undefined on routes without authentication, despite the type. */
const actorOf = (request: FastifyRequest): FastifyRequest['actor'] | undefined =>
  'actor' in request ? request.actor : undefined;

/**
 * Returns the bytes of the body that may have to be in memory; 0 for one that goes to disk, or is rejected because of
 * its length.
 */
function heldBytes(request: FastifyRequest): number {
  const { headers } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return 0;
  if (actorOf(request) && headers['content-type']?.startsWith('multipart/')) return 0;
  const limit = optionsOf(request).bodyLimit ?? 0;
  const declared = Number(headers['content-length'] ?? limit);
  return declared > limit ? 0 : declared;
}

const shortageError = (shortage: Shortage): AppError =>
  shortage === 'caller'
    ? new AppError('rate_limited', {
        message: 'Too many of your large requests are in progress',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    : new AppError('unavailable', {
        message: 'Too many large requests are in progress',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });

/** Cuts off a body that is still arriving. One that has arrived is about to get its response, so it stays. */
function cutBody(
  { raw }: FastifyRequest,
  { raw: response }: FastifyReply,
  end: EndConnection,
  count: (bound: Refusal) => void,
): boolean {
  if (raw.complete || response.headersSent) return false;
  count('bodies');
  const { message, status, code } = shortageError('all');
  end(raw.socket, { message, status, code, retryAfterSeconds: RETRY_AFTER_SECONDS });
  return true;
}

/** Interval at which bodies that arrive are looked at. */
export const SWEEP_MS = 1000;
const gathered = new WeakSet<IncomingMessage>();

/** Marks a request whose body stays in its stream until all of it is there: those bytes do not wait for us. */
export const markGathered = (request: IncomingMessage): void => void gathered.add(request);

/** Sweeps within which a body must bring its next `MIN_BYTES`, or its end. */
export const MAX_SWEEPS = 10;
/** Bytes that a slow body must bring at a time. */
export const MIN_BYTES = 1024;

/** A request whose body has not arrived completely. */
type Open = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Bytes that the connection had received when the sweeps began to count. */
  read: number;
  sweeps: number;
};

type SlowOptions = { readonly end: EndConnection; readonly count: (bound: Refusal) => void };

/**
 * Ends requests of every route whose bodies stall: with 408 if less than 1 KiB arrives within 10 seconds, and without a
 * response if the rest of a body that already has its response takes longer than that. Bytes that we have not read yet
 * do not count against the client. Returns the function that stops watching.
 */
function endSlowBodies(server: Server, { end, count }: SlowOptions): () => void {
  // Open requests by connection: one entry for each, however many requests there are between two sweeps.
  const open = new Map<Socket, Open>();

  const note = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (hasBody(request)) open.set(socket, { request, response, read: socket.bytesRead, sweeps: 0 });
  };
  const sweep = (): void => {
    for (const [socket, body] of open) {
      if (socket.destroyed || body.request.complete) open.delete(socket);
      else if (isSlow(socket, body)) {
        open.delete(socket);
        count('slow_body');
        if (body.response.writableEnded) socket.destroy();
        else end(socket, TOO_SLOW);
      }
    }
  };
  server.on('request', note).on('checkExpectation', note);
  const timer = setInterval(sweep, SWEEP_MS).unref();
  return () => clearInterval(timer);
}

const TOO_SLOW = { status: 408, message: 'The request did not arrive in time', code: 'SLOW_BODY' } as const;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

function isSlow({ bytesRead }: Socket, body: Open): boolean {
  const isAnswered = body.response.writableEnded;
  const isUnread = body.request.readableLength > 0 && !gathered.has(body.request);
  const waitsForUs = isUnread || body.request.socket.isPaused();
  if (!isAnswered && (waitsForUs || bytesRead - body.read >= MIN_BYTES)) {
    body.read = bytesRead;
    body.sweeps = 0;
    return false;
  }
  body.sweeps++;
  return body.sweeps >= MAX_SWEEPS;
}

/** A body may have this many chunks, whatever their size; programs that stream a small body send less. */
const FREE_CHUNKS = 2000;
/** Minimum average size in bytes of the chunks of a body with more than `FREE_CHUNKS`. */
const MIN_AVERAGE_BYTES = 16;
/** Time for the client to read the response to a request that it is still sending. */
const LINGER_MS = 2000;

type ChunkOptions = { readonly end: EndConnection; readonly count: (bound: Refusal) => void };

/**
 * Limits the cost of the chunks of a body. However small, each costs about a microsecond and an object of 100 bytes: a
 * body of one byte a chunk delayed all others for 100 ms each 600 KiB, and took a hundred times its size in memory. A
 * body of too many small chunks gets 413 (CHUNKS). The rest of a chunked body that already has its response is
 * discarded without being parsed, and the connection is closed after two seconds.
 */
function boundChunks(server: Server, { end, count }: ChunkOptions): void {
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
  let [chunks, bytes, refused] = [0, 0, false];
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    // Called again for the rest of the bytes that are being parsed.
    if (refused) return true;
    if (chunk !== null) {
      chunks++;
      bytes += chunk.length;
      refused = chunks > FREE_CHUNKS && bytes < chunks * MIN_AVERAGE_BYTES;
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

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { LRUCache } from 'lru-cache';
import { Counter, type Registry } from 'prom-client';
import { networkOf } from '../address.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { createFairBudget, createRateLimiter, type Rate } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { DAY_MS } from '../time.ts';
import { HEALTH_PREFIX } from './admission.ts';
import { type App, optionsOf } from './app.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * True if unauthenticated clients may call the route: only the request itself can prove who they are. Set for every
     * route that takes a body without credentials. The response to such a request names only its first error, its body
     * has a small share of the memory, and its failures count against its address.
     */
    unauthenticated?: boolean;
    /**
     * Returns true if the caller of such a route has proven itself before, from this address. Its failures do not lock
     * it out.
     */
    isKnownCaller?: (request: FastifyRequest) => boolean;
  }
  interface FastifyRequest {
    /** True if a failure of this request counts against its address. */
    countsFailure: boolean;
  }
}

/**
 * Maximum size of a body on a route that needs no credentials, unless it sets its own `bodyLimit`: enough for a name, a
 * password and a token.
 */
export const UNAUTHENTICATED_BODY_BYTES = 4096;

/** Failures at one route from one address. All of them may happen in one second. */
export const RATE: Rate = { perMinute: 120, perSecond: 120 };

/**
 * The statuses that count as failures. A 401 that names a limit was counted by that limit, which distinguishes users
 * (src/accounts/password.ts).
 */
const FAILURES: ReadonlySet<number> = new Set([400, 401, 403, 404, 408, 413, 415]);

/**
 * Marks every route that takes a body without credentials as one for unauthenticated clients, and limits that body.
 * Call it before the routes are registered.
 */
export function markUnauthenticatedRoutes(app: App): void {
  app.addHook('onRoute', (route) => {
    if (!takesUnauthenticatedBody(route)) return;
    route.bodyLimit ??= UNAUTHENTICATED_BODY_BYTES;
    route.config = { unauthenticated: true, ...route.config };
  });
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns true if a route needs no credentials, and may have a body. */
function takesUnauthenticatedBody({ method, schema }: RouteOptions): boolean {
  const security: unknown = schema && 'security' in schema ? schema.security : undefined;
  return Array.isArray(security) && security.length === 0 && ![method].flat().every((each) => SAFE.has(each));
}

/** Returns true if the caller has proven its identity, with this request or before. */
export const isKnownCaller = (request: FastifyRequest): boolean =>
  ('actor' in request && request.actor !== undefined) || optionsOf(request).config.isKnownCaller?.(request) === true;

/**
 * Limits the failures of an address at each route for unauthenticated clients: 120 a minute. Beyond that it gets 429
 * before its body is read. Each process counts for itself, because the limit protects its time and memory. Routes with
 * authentication are not affected, so an unauthenticated client behind the same address cannot stop a customer.
 * Register it after everything that rejects requests that a foreign web page can make a browser send: they would lock
 * out the visitors of that page.
 */
export function limitFailures(app: App, count: (bound: Refusal) => void): void {
  const limiter = createRateLimiter();
  app.decorateRequest('countsFailure', false);
  app.addHook('onRequest', (request, _reply, done) => {
    if (optionsOf(request).config.unauthenticated !== true) return done();
    const verdict = limiter.peek(nameOf(request), RATE);
    if (verdict.allowed || isKnownCaller(request)) {
      request.countsFailure = true;
      return done();
    }
    count('failures_of_address');
    const { retryAfterSeconds } = verdict;
    done(new AppError('rate_limited', { message: 'Too many failed requests from your address', retryAfterSeconds }));
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.countsFailure && isFailure(reply)) limiter.take(nameOf(request), RATE);
    done();
  });
}

const MAX_REMEMBERED = 10_000;

/** Networks from which callers of such routes have proven themselves, by name. */
export type KnownCallers = {
  /** Records that the caller with this name has proven itself from this address. */
  add(name: string | number, ip: string): void;
  has(name: string | number, ip: string): boolean;
};

/**
 * Remembers for a day from which networks callers come. Carriers and identity products share their addresses with others
 * (anyone can make Google post to us): failures of those must not lock them out.
 */
export function createKnownCallers(): KnownCallers {
  const known = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: DAY_MS });
  return {
    add: (name, ip) => void known.set(`${name} ${networkOf(ip)}`, true),
    has: (name, ip) => known.has(`${name} ${networkOf(ip)}`),
  };
}

const nameOf = ({ routeOptions, ip }: FastifyRequest): string => `${routeOptions.url} ${networkOf(ip)}`;

const isFailure = (reply: FastifyReply): boolean =>
  FAILURES.has(reply.statusCode) && !(reply.statusCode === 401 && reply.hasHeader('x-ratelimit-limit'));

/** Waiting requests of all connections that begin in one turn of the event loop: some 1.5 ms of work. */
const BEGIN_PER_TURN = 8;
/**
 * Requests that may wait behind the one in progress. Most clients send the next one after a response, a few send ten
 * ahead.
 */
export const MAX_WAITING = 64;
/** Floods of an address. Node parses a read of 64 KiB, a thousand requests in 17 ms, before any limit can apply. */
export const FLOODS: Rate = { perMinute: 3, perSecond: 3 };

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

type Options = {
  readonly bounds: Config['bounds'];
  /** Returns true if an address belongs to TRUST_PROXY. */
  readonly isTrusted: (address: string | undefined) => boolean;
  readonly count: (bound: Refusal) => void;
  readonly floods: Pick<Floods, 'accept'>;
  readonly log: Log;
};

type Connection = { readonly socket: Socket; readonly release: () => void; requests: number };

/** One line of the log a minute for each address. */
const LINES: Rate = { perMinute: 1, perSecond: 1 };

/**
 * Closes connections as they are accepted: those of an address that holds too many or has flooded others, and, when all
 * are taken, one of the address that holds the most. A limit on their number alone would then keep out everyone else.
 * An address that holds too many loses first the one that has been idle between two requests for longest, so that a
 * client which keeps hundreds does not keep out its neighbours; when all are busy, health probes still get through. Each
 * connection of a trusted proxy counts for itself,
 * because it carries the requests of many clients.
 */
export function boundConnections(server: Server, { bounds, isTrusted, count, floods, log }: Options): void {
  const budget = createFairBudget({ all: bounds.connections, perCaller: bounds.connectionsPerAddress });
  const lines = createRateLimiter();
  const idle = followIdle(server);
  const probes = admitProbes(server, (socket) => refuse(socket, 'connections_of_address'));

  function refuse(socket: Socket, bound: Refusal): true {
    count(bound);
    const { remoteAddress: address } = socket;
    if (bound === 'connections_of_address' && lines.take(networkOf(address), LINES).allowed)
      log.warn({ address, limit: bounds.connectionsPerAddress }, 'an address holds all the connections that one may');
    socket.destroy();
    return true;
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const caller = isTrusted(remoteAddress) ? socket : networkOf(remoteAddress);
    if (!floods.accept(socket)) return void refuse(socket, 'pipelining');
    const take = () => budget.take(caller, 1, () => refuse(socket, 'connections'));
    let taken = take();
    const longest = taken === 'caller' ? idle.takeLongest(caller) : undefined;
    if (longest) {
      longest.release();
      refuse(longest.socket, 'connections_of_address');
      taken = take();
    }
    if (taken === 'caller') return probes.admit(caller, socket);
    if (taken === 'all') return void refuse(socket, 'connections');
    socket.once('close', taken);
    idle.follow(caller, socket, taken);
  });
}

/** Connections at a time that may bring a health probe from an address without room, and from all such addresses. */
const PROBES = { perCaller: 2, all: 100 };
/** Time for a probe, TLS handshake included: probes have time limits of a few seconds themselves. */
const PROBE_MS = 2000;

/**
 * Admits a few connections beyond the limit of an address for one request to a health route each: what is busy is
 * healthy, and an orchestrator at the same address would otherwise restart it.
 */
function admitProbes(server: Server, refuse: (socket: Socket) => void) {
  const budget = createFairBudget(PROBES);
  const admitted = new Map<string, Socket>();
  // Before the handlers of requests, which ignore those of closed connections.
  server.prependListener('request', ({ socket, url }: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(socket);
    const probe = admitted.get(peer);
    if (!probe) return;
    admitted.delete(peer);
    response.shouldKeepAlive = false;
    if (url?.startsWith(HEALTH_PREFIX)) return;
    refuse(probe);
    socket.destroy();
  });
  return {
    admit(caller: unknown, socket: Socket): void {
      const release = budget.take(caller, 1, () => false);
      if (typeof release === 'string') return refuse(socket);
      const peer = peerOf(socket);
      admitted.set(peer, socket);
      const timer = setTimeout(() => refuse(socket), PROBE_MS);
      socket.once('close', () => {
        clearTimeout(timer);
        admitted.delete(peer);
        release();
      });
    },
  };
}

/** A connection by its peer: over TLS, a request has another socket than the one that was accepted. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Follows which connections are idle between two requests, by caller. */
function followIdle(server: Server) {
  const connections = new Map<string, Connection & { readonly caller: unknown }>();
  /** Idle connections by group, in the order in which they became idle. */
  const idle = new Map<unknown, Set<Connection>>();

  function remove(caller: unknown, connection: Connection): void {
    const own = idle.get(caller);
    own?.delete(connection);
    if (own?.size === 0) idle.delete(caller);
  }

  function began({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(peerOf(socket));
    if (!connection) return;
    const { caller } = connection;
    connection.requests += 1;
    remove(caller, connection);
    response.once('close', () => {
      connection.requests -= 1;
      if (connection.requests > 0 || connection.socket.destroyed) return;
      idle.set(caller, (idle.get(caller) ?? new Set()).add(connection));
    });
  }
  server.on('request', began);
  server.on('checkExpectation', began);

  return {
    follow(caller: unknown, socket: Socket, release: () => void): void {
      const peer = peerOf(socket);
      const connection = { socket, release, requests: 0, caller };
      connections.set(peer, connection);
      socket.once('close', () => {
        connections.delete(peer);
        remove(caller, connection);
      });
    },
    /** Returns the connection of a caller that has been idle for longest, which is idle no more. */
    takeLongest(caller: unknown): Connection | undefined {
      const [longest] = idle.get(caller) ?? [];
      if (longest) remove(caller, longest);
      return longest;
    },
  };
}

/** The limit that was exceeded. */
export type Refusal =
  | 'connections'
  | 'connections_of_address'
  | 'bodies'
  | 'bodies_of_caller'
  | 'slow_body'
  | 'chunks'
  | 'pipelining'
  | 'failures_of_address';

const NAME = 'heliograph_http_refused_total';

/** Returns the function that counts a rejection in the metrics. Servers with one registry share the counter. */
export function createRefusalCounter({ registry }: Pick<Metrics, 'registry'>): (bound: Refusal) => void {
  const known = registry.getSingleMetric(NAME);
  const counter = known instanceof Counter ? known : createCounter(registry);
  return (bound) => counter.inc({ bound });
}

const createCounter = (registry: Registry): Counter<'bound'> =>
  new Counter({
    name: NAME,
    help: 'Connections closed and requests rejected because of a limit on the resources of one client or of all',
    labelNames: ['bound'] as const,
    registers: [registry],
  });

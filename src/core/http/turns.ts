import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { createFairQueue, type FairQueue, type Slot } from '../fair-queue.ts';
import { isRecord } from '../schema.ts';
import { type App, optionsOf, routeOf } from './app.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: requests of this route take turns although they read no page; 'large': with those of large responses. */
    takesTurns?: boolean | 'large';
  }
}

/** Bodies from this size have thousands of recipients, and responses take milliseconds to make. */
export const LARGE_BYTES = 64 * 1024;
/** Number of long requests in progress: fewer than there are connections to the database, for the short ones. */
export const LONG = { size: 8, perAccount: 2 };
/**
 * Limits for requests of routes with large responses. One per account: two at a time complete no more of them, and on
 * two cores the p99 of other accounts was 320 ms instead of 110 ms while one account read drafts of 4 MB.
 */
export const LARGE = { size: 4, perAccount: 1 };
/**
 * Amount that an account may read in responses of over a mebibyte, per ms: 16 MiB/s. PostgreSQL and the loop take 60 ms
 * of two cores for a row of 4 MiB, so an account that reads one after the other would take all of them.
 */
export const LARGEST = { freeBytes: 1024 * 1024, bytesPerMs: 16 * 1024 };

type Entering = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly accountId: number };
/** `enter` waits for the next turn of the same request; it rejects if the client has disconnected. */
type Turn = { slot: Slot; readonly enter: () => Promise<Slot>; isAtWork: boolean };

const turns = new WeakMap<FastifyRequest, Turn>();

/** Runs `wait`, which does no work, without the turn of the request, and takes another turn after it. */
export async function waitWithoutTurn(request: FastifyRequest, wait: () => Promise<void>): Promise<void> {
  const turn = turns.get(request);
  turn?.slot[Symbol.dispose]();
  await wait();
  if (turn) turn.slot = await turn.enter();
}

/**
 * Lets accounts take turns with long requests: those with large bodies, reads of pages, routes with `takesTurns`, and
 * every route that has once given the account a large response. Of one account two are in progress at a time, and one
 * with a large response, and the rest waits, so that an account with many of them leaves the event loop and the
 * database to others. A turn lasts from the whole body until the response is sent. Call it before the routes are
 * registered. Handlers of such routes must not wait for the client, for another server or for an event, except in
 * `waitWithoutTurn`: eight requests that waited for 25 seconds held up the pages of all accounts for as long.
 */
export function takeTurns(app: App): void {
  const large = createFairQueue(LARGE);
  const long = createFairQueue(LONG);
  /** Accounts and routes whose rows may be large, as a response has shown: `17 /messages`. */
  const withLargeAnswers = new LRUCache<string, true>({ max: 10_000 });

  function leave(request: FastifyRequest): void {
    turns.get(request)?.slot[Symbol.dispose]();
    turns.delete(request);
  }

  async function enter(queue: FairQueue, { request, reply, accountId }: Entering): Promise<void> {
    const waiting = new AbortController();
    // A client that disconnects ends the turn before the handler, and that of a stream: the work of a handler goes on.
    const giveUp = (): void => {
      waiting.abort(new AppError('invalid', { message: 'The client disconnected before its turn came' }));
      if (turns.get(request)?.isAtWork !== true || reply.raw.headersSent) leave(request);
    };
    if (reply.raw.closed) giveUp();
    else reply.raw.once('close', giveUp);
    const next = (): Promise<Slot> => queue.enter(accountId, { signal: waiting.signal });
    turns.set(request, { slot: await next(), enter: next, isAtWork: false });
  }

  app.addHook('onRoute', (route) => {
    if (readsPage(route)) route.config = { ...route.config, takesTurns: true };
  });
  app.addHook('preValidation', (request, reply, done) => {
    const accountId = accountOf(request);
    const { config } = optionsOf(request);
    if (accountId === undefined) return done();
    const isLarge = config.takesTurns === 'large' || withLargeAnswers.has(placeOf(request, accountId));
    if (!isLarge && !isKnownToBeLong(request)) return done();
    enter(isLarge ? large : long, { request, reply, accountId }).then(() => done(), done);
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const turn = turns.get(request);
    if (turn) turn.isAtWork = true;
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    const restMs = (sizeOf(payload) - LARGEST.freeBytes) / LARGEST.bytesPerMs;
    const turn = turns.get(request);
    turns.delete(request);
    if (restMs > 0) setTimeout(() => turn?.slot[Symbol.dispose](), restMs).unref();
    else turn?.slot[Symbol.dispose]();
    const accountId = accountOf(request);
    if (accountId !== undefined && sizeOf(payload) >= LARGE_BYTES)
      withLargeAnswers.set(placeOf(request, accountId), true);
    done(null, payload);
  });
}

/** A route with a `limit` reads a page. */
function readsPage({ schema }: RouteOptions): boolean {
  const query = schema?.querystring;
  return isRecord(query) && isRecord(query['properties']) && 'limit' in query['properties'];
}

/** Files do not count as bodies: they are read as they arrive, which is up to the client. */
function isKnownToBeLong(request: FastifyRequest): boolean {
  const { headers, method } = request;
  if (optionsOf(request).config.takesTurns === true) return true;
  if (method === 'GET' || method === 'HEAD') return false;
  if (headers['content-type']?.startsWith('multipart/') === true) return false;
  return Number(headers['content-length'] ?? 0) >= LARGE_BYTES || headers['transfer-encoding'] !== undefined;
}

const placeOf = (request: FastifyRequest, accountId: number): string => `${accountId} ${routeOf(request)}`;

const sizeOf = (payload: unknown): number =>
  typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;

/** Returns the account; undefined on routes without authentication, despite the type. */
const accountOf = (request: FastifyRequest): number | undefined =>
  'actor' in request ? (request.actor as FastifyRequest['actor'] | undefined)?.accountId : undefined;

import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AppError } from '../errors.ts';
import { createFairQueue, type Slot } from '../fair-queue.ts';
import { isRecord } from '../lib/is-record.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a request of this route takes turns with those of other accounts, although it reads no page. */
    takesTurns?: boolean;
  }
}

/** Bodies from this size on have thousands of recipients, and answers take milliseconds to make. */
const LARGE_BYTES = 64 * 1024;
/** How many long requests are worked on: fewer than there are connections to the database, for the short ones. */
const AT_ONCE = 8;
/** Of one account: few enough that, even on two cores, time is left for the others. */
const PER_ACCOUNT = 2;

type Turn = { readonly slot: Slot; isAtWork: boolean };

/**
 * Lets accounts take turns with what takes long: requests with large bodies, reads of pages, routes with `takesTurns`, and
 * every route that has once given a large answer. Of one account two are worked on at a time and the rest waits, so that an account with many of them leaves
 * the event loop and the database to others. A turn lasts from the whole body until the answer is sent. Call it before
 * the routes are registered. Handlers of such routes must not wait for the client, or for another server.
 */
export function takeTurns(app: App): void {
  const queue = createFairQueue({ size: AT_ONCE, perAccount: PER_ACCOUNT });
  const turns = new WeakMap<FastifyRequest, Turn>();
  /** The configurations of routes whose rows may be large, as an answer has shown. */
  const withLargeAnswers = new WeakSet<object>();

  function leave(request: FastifyRequest): void {
    turns.get(request)?.slot[Symbol.dispose]();
    turns.delete(request);
  }

  async function enter(request: FastifyRequest, reply: FastifyReply, accountId: number): Promise<void> {
    const waiting = new AbortController();
    // A client that disconnects ends the turn only before the handler: what the handler does goes on.
    const giveUp = (): void => {
      waiting.abort(new AppError('invalid', { message: 'The client disconnected before its turn came' }));
      if (turns.get(request)?.isAtWork !== true) leave(request);
    };
    if (reply.raw.closed) giveUp();
    else reply.raw.once('close', giveUp);
    const slot = await queue.enter(accountId, { signal: waiting.signal });
    turns.set(request, { slot, isAtWork: false });
  }

  app.addHook('onRoute', (route) => {
    if (readsPage(route)) route.config = { ...route.config, takesTurns: true };
  });
  app.addHook('preValidation', (request, reply, done) => {
    const accountId = accountOf(request);
    const isLong = withLargeAnswers.has(request.routeOptions.config) || isKnownToBeLong(request);
    if (accountId === undefined || !isLong) return done();
    enter(request, reply, accountId).then(() => done(), done);
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const turn = turns.get(request);
    if (turn) turn.isAtWork = true;
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    leave(request);
    if (isLarge(payload)) withLargeAnswers.add(request.routeOptions.config);
    done(null, payload);
  });
}

/** A route with a `limit` reads a page. */
function readsPage({ schema }: RouteOptions): boolean {
  const query = schema?.querystring;
  return isRecord(query) && isRecord(query['properties']) && 'limit' in query['properties'];
}

/** Files do not count as bodies: they are read as they arrive, which is up to the client. */
function isKnownToBeLong({ headers, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.takesTurns === true) return true;
  if (headers['content-type']?.startsWith('multipart/') === true) return false;
  return Number(headers['content-length'] ?? 0) >= LARGE_BYTES || headers['transfer-encoding'] !== undefined;
}

const isLarge = (payload: unknown): boolean =>
  (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= LARGE_BYTES;

/** Undefined on routes without authentication, whatever the type says. */
const accountOf = (request: FastifyRequest): number | undefined =>
  'actor' in request ? (request.actor as FastifyRequest['actor'] | undefined)?.accountId : undefined;

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { AppError } from '../../errors.ts';
import { networkOf } from '../../lib/address.ts';
import { createFairBudget, type Shortage } from '../../lib/limits/fair-budget.ts';
import type { App } from '../app.ts';
import type { EndConnection } from '../client-error.ts';
import type { Refusal } from './refusals.ts';
import { isKnownCaller } from './strangers.ts';

/** Bodies of up to this size are not counted: the number of connections limits them. */
const FREE_BYTES = 16 * 1024;
const RETRY_AFTER_SECONDS = 5;

type Options = {
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
export function boundBodies(app: App, { bounds, end, count }: Options): void {
  const { bodyBytes } = bounds;
  const callers = createFairBudget({ all: bodyBytes, perCaller: bodyBytes / 4 });
  const strangers = createFairBudget({ all: bodyBytes / 4, perCaller: bodyBytes / 32 });

  app.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = heldBytes(request);
    if (bytes <= FREE_BYTES) return done(null, payload);
    const cut = (): boolean => cutBody(request, reply, end, count);
    const taken = isKnownCaller(request)
      ? callers.take(nameOf(request), bytes, cut)
      : strangers.take(nameOf(request), bytes, cut);
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
  const { headers, routeOptions } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return 0;
  if (actorOf(request) && headers['content-type']?.startsWith('multipart/')) return 0;
  const limit = routeOptions.bodyLimit ?? 0;
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

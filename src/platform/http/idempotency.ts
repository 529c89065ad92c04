import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { tenantTransaction } from '../db/tenant.ts';
import { transaction } from '../db/transaction.ts';
import { AppError, invalidFields } from '../errors.ts';
import type { Answers } from '../idempotency/answers.ts';
import type { Key, SealedAnswer } from '../idempotency/sql.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The Idempotency-Key of this request; null without one, and on routes that take none. */
    keyed: Keyed | null;
  }
  interface FastifyContextConfig {
    /** Takes an Idempotency-Key though it is no POST. */
    idempotent?: boolean;
  }
}

/** A request with an Idempotency-Key. */
export type Keyed = Key & {
  /** SHA-256 of method, URL and the body as received; undefined while some of the body has not been read. */
  requestHash(): Buffer | undefined;
};

type Deps = { readonly pool: Pool; readonly answers: Answers };

const HEADER = 'idempotency-key';
/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/;
const JSON_TYPE = 'application/json; charset=utf-8';
/** Answers that another try may well not get again, though the request is the same. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/**
 * Contract 1, for the routes registered after it: a POST (and a route with `config.idempotent`) with a key that was
 * answered before gets that answer again, with `Idempotency-Replayed: true`, and the same key for another request 409.
 *
 * An answer that goes with a change is stored by whoever makes the change, in its transaction: `once` does so, and a
 * handler marked by `keeping` sees to it itself. Answers of 4xx changed nothing and are stored here. A POST with
 * neither is refused at its registration. See docs/decisions/0009-idempotency.md.
 */
export function takeIdempotencyKeys(app: App, { answers }: Pick<Deps, 'answers'>): void {
  app.decorateRequest('keyed', null);
  app.addHook('onRoute', refuseUnsafe);
  // After everything that may refuse the caller, before the body is read.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const key = request.headers[HEADER];
    if (key === undefined || !takesKey(request.routeOptions)) return done(null, payload);
    if (typeof key !== 'string' || !KEY.test(key)) return done(badKey(), payload);
    request.keyed = startKeyed(request, key);
    done(null, payload);
  });
  app.addHook('preValidation', (request, reply, done) => {
    if (!request.keyed) return done();
    answerAgain(answers, request, reply).then((answered) => (answered ? undefined : done()), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const answer = answerOfNothing(answers, request, reply, payload);
    const sent = (): void => done(null, payload);
    // When it cannot be stored it is still the answer: nothing was changed.
    if (answer) answers.keepSoon(answer).then(sent, sent);
    else sent();
  });
}

const badKey = (): AppError =>
  invalidFields([{ field: 'Idempotency-Key', message: 'must have 1 to 255 printable ASCII characters' }]);

const inFlight = (): AppError =>
  new AppError('conflict', {
    message: 'A request with this Idempotency-Key is under way: try again to get its answer',
    retryAfterSeconds: 1,
  });

const usedOtherwise = (): AppError =>
  new AppError('conflict', { message: 'This Idempotency-Key was used for another request within 24 hours' });

type Route = { readonly method?: unknown; readonly config?: { readonly idempotent?: boolean } };
/** Whether a route reads the header. */
export const takesKey = ({ method, config }: Route): boolean =>
  [method].flat().includes('POST') || config?.idempotent === true;

const safeHandlers = new WeakSet<object>();

function refuseUnsafe({ method, url, config = {}, handler }: RouteOptions): void {
  if (!takesKey({ method, config }) || safeHandlers.has(handler)) return;
  throw new Error(
    `${[method].flat().join()} ${url} must have a handler made by once() or keeping() of src/platform/http/idempotency.ts`,
  );
}

function startKeyed(request: FastifyRequest, key: string): Keyed {
  const { accountId } = request.actor;
  const hash = createHash('sha256').update(`${request.method} ${request.url}\n`);
  const read = hashBody(request.raw, hash);
  let digest: Buffer | undefined;
  return { accountId, key, requestHash: () => (read() ? (digest ??= hash.digest()) : undefined) };
}

/** Follows the body to wherever it is read, parsed at once or streamed. Tells whether the end has been read. */
function hashBody(raw: IncomingMessage, hash: Hash): () => boolean {
  const { 'content-length': length, 'transfer-encoding': chunked } = raw.headers;
  let ended = chunked === undefined && (length === undefined || Number(length) === 0);
  // A listener of our own would start the stream before its reader is there, so it is added together with that one.
  const follow = (event: string | symbol): void => {
    if (event !== 'data') return;
    raw.off('newListener', follow);
    raw.on('data', (octets: Buffer) => hash.update(octets));
  };
  raw.on('newListener', follow);
  raw.once('end', () => {
    ended = true;
  });
  return () => ended;
}

/** Answers as the first time, if there was one. Rejects with 409 when the key belongs to another request. */
async function answerAgain(answers: Answers, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  const { keyed } = request;
  const stored = keyed && (await answers.find(keyed));
  if (!stored) return false;
  // What is answered from here on is no first answer.
  request.keyed = null;
  if (!(await hashWhenRead(keyed, request.raw)).equals(stored.requestHash)) throw usedOtherwise();
  reply.code(stored.status).header('idempotency-replayed', 'true');
  if (stored.type !== null) reply.type(stored.type);
  void reply.send(stored.body);
  return true;
}

/** A body that its route would have streamed is read here, and thrown away. */
async function hashWhenRead(keyed: Keyed, raw: IncomingMessage): Promise<Buffer> {
  const known = keyed.requestHash();
  if (known) return known;
  await finished(raw.on('data', () => undefined));
  return keyed.requestHash() ?? Promise.reject(new AppError('invalid', { message: 'The body was cut short' }));
}

/** The key of a request, and how its answer is stored. */
export type Keep = Key & {
  /** The row for this payload, at the status set on the reply. */
  seal(payload: unknown): SealedAnswer;
};

/** What a handler does in the transaction that also stores its answer. */
type Work<Q extends FastifyRequest, R> = (request: Q, tx: PoolClient) => Promise<R>;

/**
 * A handler whose work is one transaction, with the rights of the caller's account: what `work` returns is answered with
 * `status`, and for a request with a key stored in that same transaction. So the work of a key is done once, whatever
 * crashes: with the transaction that is rolled back the key is free again. While it runs, the key is answered 409.
 */
export const once = <Q extends FastifyRequest, R>(deps: Deps, status: number, work: Work<Q, R>) =>
  onceIn(deps, status, work, ({ actor }, run) => tenantTransaction(deps.pool, actor, run));

/** The same for operators: with the rights of the program, over all accounts. */
export const onceForAll = <Q extends FastifyRequest, R>(deps: Deps, status: number, work: Work<Q, R>) =>
  onceIn(deps, status, work, (_request, run) => transaction(deps.pool, run));

const onceIn = <Q extends FastifyRequest, R>(
  { answers }: Deps,
  status: number,
  work: Work<Q, R>,
  within: (request: Q, run: (tx: PoolClient) => Promise<R>) => Promise<R>,
) =>
  keeping<Q, R>({ answers }, (request, reply, keep) => {
    reply.code(status);
    return within(request, async (tx) => {
      if (keep) await answers.claim(tx, keep);
      const payload = await work(request, tx);
      if (keep) await answers.keep(tx, keep.seal(payload));
      return payload;
    });
  });

/**
 * A handler that sees to its stored answer itself: when it is given `keep`, it stores what `keep.seal` makes of its payload in
 * the transaction of its work. A handler that changes nothing, or nothing that a second time could harm, may ignore it.
 */
export function keeping<Q extends FastifyRequest, R>(
  { answers }: Pick<Deps, 'answers'>,
  handler: (request: Q, reply: FastifyReply, keep?: Keep) => Promise<R>,
) {
  const safe = async (request: Q, reply: FastifyReply): Promise<R | undefined> => {
    try {
      return await handler(request, reply, keepOf(answers, request, reply));
    } catch (error) {
      if (!answers.isTaken(error)) throw error;
      if (await answerAgain(answers, request, reply)) return undefined;
      request.keyed = null;
      throw inFlight();
    }
  };
  safeHandlers.add(safe);
  return safe;
}

function keepOf(answers: Answers, { keyed }: FastifyRequest, reply: FastifyReply): Keep | undefined {
  if (!keyed) return undefined;
  const seal = (payload: unknown): SealedAnswer => {
    const requestHash = keyed.requestHash();
    if (!requestHash) throw new Error('the answer is made before the end of the body was read');
    const empty = payload === null || payload === undefined;
    const body = empty ? '' : reply.serialize(payload);
    if (typeof body !== 'string') throw new Error('only answers in JSON can be stored');
    const type = empty ? null : JSON_TYPE;
    return answers.seal({ ...keyed, requestHash }, { status: reply.statusCode, type, body });
  };
  return { accountId: keyed.accountId, key: keyed.key, seal };
}

/** The answer to a request that changed nothing, if another try must get it again. */
function answerOfNothing(
  answers: Answers,
  { keyed }: FastifyRequest,
  { statusCode: status }: FastifyReply,
  body: unknown,
): SealedAnswer | undefined {
  if (!keyed || status < 400 || status >= 500 || PASSING.has(status)) return undefined;
  const requestHash = keyed.requestHash();
  if (!requestHash || typeof body !== 'string') return undefined;
  return answers.seal({ ...keyed, requestHash }, { status, type: JSON_TYPE, body });
}

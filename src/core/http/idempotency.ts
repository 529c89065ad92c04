import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import type { Actor } from '../actor.ts';
import { tenantTransaction, transaction } from '../db/transaction.ts';
import { AppError, invalidFields } from '../errors.ts';
import type { AnswerStore, Key, SealedAnswer, StoredAnswer } from '../idempotency.ts';
import { type AmountReader, isAmountSchema, isTextWithAmounts, seesAmounts, textFor } from '../money.ts';
import { isRecord } from '../schema.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The Idempotency-Key of this request; null without one, and on routes that accept none. */
    keyed: Keyed | null;
  }
  interface FastifyContextConfig {
    /** Makes a route accept an Idempotency-Key although it is not a POST. */
    idempotent?: boolean;
    /** True if its response holds a secret, which an Idempotency-Key then gives only to the caller who got it first. */
    secretAnswer?: boolean;
  }
}

type Keyed = Key & {
  /** The user or the API key that sends the request. */
  readonly caller: string;
  /** Returns the SHA-256 of method, URL and body as received; undefined until the whole body has been read. */
  requestHash(): Buffer | undefined;
};

type Deps = { readonly pool: Pool; readonly answers: AnswerStore };

const HEADER = 'idempotency-key';
/** A valid key: printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/;
const JSON_TYPE = 'application/json; charset=utf-8';
/** Statuses that are not stored: a repetition of the same request may get another one. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/**
 * Implements `Idempotency-Key` for the routes registered after it. A POST (or a route with `config.idempotent`) whose
 * key has a stored response gets that response again, with `Idempotency-Replayed: true`; the same key with a different
 * request gets 409, and so does another caller of the account if the response holds a secret (`config.secretAnswer`).
 * Amounts in it are for callers who would see them in a new response.
 *
 * The response to a request that changes something is stored by its handler, in the transaction of the change:
 * `idempotentTx` does this, and a handler made by `idempotentHandler` does it itself. Responses with a 4xx status
 * changed nothing and are stored here. Registering a POST with any other handler throws. See
 * docs/decisions/0009-idempotency.md.
 */
export function acceptIdempotencyKeys(app: App, { answers }: Pick<Deps, 'answers'>): void {
  app.decorateRequest('keyed', null);
  app.addHook('onRoute', requireIdempotentHandler);
  // After everything that may reject the caller, before the body is read.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const key = request.headers[HEADER];
    if (key === undefined || !acceptsKey(request.routeOptions)) return done(null, payload);
    if (typeof key !== 'string' || !KEY.test(key)) return done(invalidKey(), payload);
    request.keyed = keyedRequest(request, key);
    done(null, payload);
  });
  app.addHook('preValidation', (request, reply, done) => {
    if (!request.keyed) return done();
    replayAnswer(answers, request, reply).then((answered) => (answered ? undefined : done()), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const answer = clientErrorAnswer(answers, request, reply, payload);
    const sent = (): void => done(null, payload);
    // If it cannot be stored, it is still the right response: nothing was changed.
    if (answer) answers.storeSoon(answer).then(sent, sent);
    else sent();
  });
}

const invalidKey = (): AppError =>
  invalidFields([{ field: 'Idempotency-Key', message: 'must have 1 to 255 printable ASCII characters' }]);

const stillInProgress = (): AppError =>
  new AppError('conflict', {
    message: 'A request with this Idempotency-Key is in progress: retry to get its response',
    retryAfterSeconds: 1,
  });

const keyReused = (): AppError =>
  new AppError('conflict', {
    message: 'This Idempotency-Key was already used for a different request within the last 24 hours',
  });

const secretOfAnother = (): AppError =>
  new AppError('conflict', {
    message:
      'This Idempotency-Key was already used by another user or API key of the account, and the response holds a secret, ' +
      'which is not shown again: use another Idempotency-Key',
  });

type Route = { readonly method?: unknown; readonly config?: { readonly idempotent?: boolean } };
/** Returns true if a route accepts an Idempotency-Key. */
export const acceptsKey = ({ method, config }: Route): boolean =>
  [method].flat().includes('POST') || config?.idempotent === true;

const idempotentHandlers = new WeakSet<object>();

function requireIdempotentHandler({ method, url, config = {}, handler }: RouteOptions): void {
  if (!acceptsKey({ method, config }) || idempotentHandlers.has(handler)) return;
  throw new Error(
    `${[method].flat().join()} ${url} must have a handler made by idempotentTx() or idempotentHandler() of src/core/http/idempotency.ts`,
  );
}

function keyedRequest(request: FastifyRequest, key: string): Keyed {
  const { accountId } = request.actor;
  const caller = nameOf(request.actor);
  const hash = createHash('sha256').update(`${request.method} ${request.url}\n`);
  const read = hashBody(request.raw, hash);
  let digest: Buffer | undefined;
  return { accountId, key, caller, requestHash: () => (read() ? (digest ??= hash.digest()) : undefined) };
}

/** Users are the same person in every session; an operator in another account is known by the session only. */
const nameOf = ({ kind, keyId, userId, session }: Actor): string =>
  kind === 'key' ? `key ${keyId}` : `user ${userId ?? session?.userId}`;

/**
 * Hashes the body while the route reads it, parsed or streamed. The returned function returns true if its end was read.
 */
function hashBody(raw: IncomingMessage, hash: Hash): () => boolean {
  const { 'content-length': length, 'transfer-encoding': chunked } = raw.headers;
  let ended = chunked === undefined && (length === undefined || Number(length) === 0);
  // Our own 'data' listener would start the stream before its reader is attached, so it is added together with that
  // one.
  const follow = (event: string | symbol): void => {
    if (event !== 'data') return;
    raw.off('newListener', follow);
    raw.on('data', (bytes: Buffer) => hash.update(bytes));
  };
  raw.on('newListener', follow);
  raw.once('end', () => {
    ended = true;
  });
  return () => ended;
}

/**
 * Sends the stored response of the key and returns true, or returns false if there is none. 409 if it was another
 * request.
 */
async function replayAnswer(answers: AnswerStore, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  const { keyed } = request;
  const stored = keyed && (await answers.find(keyed));
  if (!stored) return false;
  // Further responses to this request must not be stored as a first response.
  request.keyed = null;
  if (!(await hashWhenRead(keyed, request.raw)).equals(stored.requestHash)) throw keyReused();
  if (request.routeOptions.config.secretAnswer === true && stored.caller !== keyed.caller) throw secretOfAnother();
  reply.code(stored.status).header('idempotency-replayed', 'true');
  if (stored.type !== null) reply.type(stored.type);
  const reader = { operations: request.actor.operations, caller: keyed.caller };
  void reply.send(bodyFor(reader, stored, request.routeOptions.schema));
  return true;
}

/** Returns the request's hash. A body that the route would have streamed is read here and discarded. */
async function hashWhenRead(keyed: Keyed, raw: IncomingMessage): Promise<Buffer> {
  const known = keyed.requestHash();
  if (known) return known;
  await finished(raw.on('data', () => undefined));
  return keyed.requestHash() ?? Promise.reject(new AppError('invalid', { message: 'The body is incomplete' }));
}

/**
 * The pending response to a request with an Idempotency-Key: its key, and the function that seals the response for
 * storage.
 */
export type PendingAnswer = Key & {
  /** Returns the row to store for this payload, with the status set on the reply. */
  seal(payload: unknown): SealedAnswer;
};

/**
 * The work of a handler, done in the transaction that also stores its response. `prepared` was made before it began.
 */
type Work<Q extends FastifyRequest, R, P> = (request: Q, tx: PoolClient, prepared: P) => Promise<R>;

/** Does slow work, such as a password hash, before the transaction: no connection waits for it. */
type Prepare<Q extends FastifyRequest, P> = (request: Q) => Promise<P>;

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

/**
 * Creates a handler whose work is one transaction with the rights of the caller's account. It responds with `status`
 * and the result of `work` and, for a request with a key, stores that response in the same transaction. The work of a
 * key is therefore done exactly once, whatever crashes: a rollback also frees the key. While it runs, other requests
 * with the key get 409.
 */
export const idempotentTx = <Q extends FastifyRequest, R>(deps: Deps, status: number, work: Work<Q, R, undefined>) =>
  preparedTx(deps, status, nothing, work);

/**
 * Creates a handler like `idempotentTx`, whose work receives the result of `prepare`, made before the transaction
 * began.
 */
export const preparedTx = <Q extends FastifyRequest, R, P>(
  deps: Deps,
  status: number,
  prepare: Prepare<Q, P>,
  work: Work<Q, R, P>,
) => idempotentIn(deps, status, { prepare, work }, ({ actor }, run) => tenantTransaction(deps.pool, actor, run));

/** Like `idempotentTx`, for operators: the transaction has the rights of the program, over all accounts. */
export const idempotentGlobal = <Q extends FastifyRequest, R>(
  deps: Deps,
  status: number,
  work: Work<Q, R, undefined>,
) => preparedGlobal(deps, status, nothing, work);

/** Like `preparedTx`, for operators. */
export const preparedGlobal = <Q extends FastifyRequest, R, P>(
  deps: Deps,
  status: number,
  prepare: Prepare<Q, P>,
  work: Work<Q, R, P>,
) => idempotentIn(deps, status, { prepare, work }, (_request, run) => transaction(deps.pool, run));

const idempotentIn = <Q extends FastifyRequest, R, P>(
  { answers }: Deps,
  status: number,
  { prepare, work }: { readonly prepare: Prepare<Q, P>; readonly work: Work<Q, R, P> },
  within: (request: Q, run: (tx: PoolClient) => Promise<R>) => Promise<R>,
) =>
  idempotentHandler<Q, R>({ answers }, async (request, reply, pendingAnswer) => {
    reply.code(status);
    const prepared = await prepare(request);
    return within(request, async (tx) => {
      if (pendingAnswer) await answers.claim(tx, pendingAnswer);
      const payload = await work(request, tx, prepared);
      if (pendingAnswer) await answers.store(tx, pendingAnswer.seal(payload));
      return payload;
    });
  });

/**
 * Creates a handler that stores its own response: given a `pendingAnswer`, it must store the result of
 * `pendingAnswer.seal` for its payload, in the transaction of its work. A handler that changes nothing, or nothing that
 * a repetition could harm, may ignore it.
 */
export function idempotentHandler<Q extends FastifyRequest, R>(
  { answers }: Pick<Deps, 'answers'>,
  handler: (request: Q, reply: FastifyReply, pendingAnswer?: PendingAnswer) => Promise<R>,
) {
  const safe = async (request: Q, reply: FastifyReply): Promise<R | undefined> => {
    try {
      return await handler(request, reply, pendingAnswerOf(answers, request, reply));
    } catch (error) {
      if (!answers.isTaken(error)) throw error;
      if (await replayAnswer(answers, request, reply)) return undefined;
      request.keyed = null;
      throw stillInProgress();
    }
  };
  idempotentHandlers.add(safe);
  return safe;
}

function pendingAnswerOf(
  answers: AnswerStore,
  { keyed }: FastifyRequest,
  reply: FastifyReply,
): PendingAnswer | undefined {
  if (!keyed) return undefined;
  const seal = (payload: unknown): SealedAnswer => {
    const requestHash = keyed.requestHash();
    if (!requestHash) throw new Error('the response was made before the whole body was read');
    const empty = payload === null || payload === undefined;
    const body = empty ? '' : reply.serialize(payload);
    if (typeof body !== 'string') throw new Error('only JSON responses can be stored');
    const type = empty ? null : JSON_TYPE;
    return answers.seal({ ...keyed, requestHash }, { status: reply.statusCode, type, body, caller: keyed.caller });
  };
  return { accountId: keyed.accountId, key: keyed.key, seal };
}

/** Returns the 4xx response to store for a request that changed nothing; undefined if a retry need not get it again. */
function clientErrorAnswer(
  answers: AnswerStore,
  { keyed }: FastifyRequest,
  { statusCode: status }: FastifyReply,
  body: unknown,
): SealedAnswer | undefined {
  if (!keyed || status < 400 || status >= 500 || TRANSIENT_STATUSES.has(status)) return undefined;
  const requestHash = keyed.requestHash();
  if (!requestHash || typeof body !== 'string') return undefined;
  return answers.seal({ ...keyed, requestHash }, { status, type: JSON_TYPE, body, caller: keyed.caller });
}

/** Recipient of a stored response. */
type Reader = AmountReader & { readonly caller: string };

const NOT_SHOWN = 'The first response is only for callers with the scope "money": use another Idempotency-Key';

/**
 * Returns the body of a stored response as this reader may see it. Without the scope `money`, the fields that the
 * route's schema marks as amounts are null, as in a new response. Errors of such a route may contain amounts in their
 * text, so another caller gets them without it.
 */
export function bodyFor(reader: Reader, answer: StoredAnswer, schema: FastifySchema | undefined): string {
  const responses = isRecord(schema?.response) ? schema.response : {};
  const { status, type, body, caller } = answer;
  if (type === null || seesAmounts(reader)) return body;
  const isSuccess = status < 400;
  // Errors of a route whose responses have an amount only within a reason have none.
  if (!has(isSuccess ? isAmountOrText : isAmountSchema, responses)) return body;
  if (isSuccess) return JSON.stringify(withoutAmounts(reader, JSON.parse(body), responses[status]));
  if (caller === reader.caller) return body;
  return JSON.stringify({ ...JSON.parse(body), message: NOT_SHOWN, details: undefined });
}

type Test = (schema: Record<string, unknown>) => boolean;

const has = (test: Test, schema: unknown): boolean =>
  isRecord(schema) && (test(schema) || Object.values(schema).some((part) => has(test, part)));

const isAmountOrText: Test = (schema) => isAmountSchema(schema) || isTextWithAmounts(schema);

function withoutAmounts(reader: Reader, value: unknown, schema: unknown): unknown {
  if (!isRecord(schema)) return value;
  if (isAmountSchema(schema)) return null;
  if (isTextWithAmounts(schema) && typeof value === 'string') return textFor(reader, value);
  if (Array.isArray(value)) return value.map((item) => withoutAmounts(reader, item, schema['items']));
  const branches = [schema['anyOf'], schema['oneOf']].flat();
  const rest = branches.reduce((shown, branch) => withoutAmounts(reader, shown, branch), value);
  const properties = schema['properties'];
  if (!isRecord(rest) || !isRecord(properties)) return rest;
  return Object.fromEntries(
    Object.entries(rest).map(([name, field]) => [name, withoutAmounts(reader, field, properties[name])]),
  );
}

import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import type { Inbound, Receipt } from '../channels/carrier.ts';
import type { Config } from '../core/config.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, ErrorOut, ref } from '../core/http/app.ts';
import { createKnownCallers, type KnownCallers } from '../core/http/unauthenticated.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Clock } from '../core/time.ts';
import { insertNotices } from '../routing/connection-store.ts';
import type { CallbackEvents, CallbackRequest, Callbacks } from '../routing/kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../routing/kinds.ts';
import { changeMessagingLimit } from '../routing/messaging-limits.ts';
import type { Receiver, Receivers } from '../routing/supervise.ts';
import { type OnTemplatesChange, receiveTemplateChanges } from '../templates/sync.ts';
import { createInboundInbox, type OnInbound } from './inbound.ts';
import { receiveSubscriptions } from './inbound-store.ts';
import { distribute, type KeepUnclaimed } from './unclaimed-callbacks.ts';
import { notifyReceipts } from './receipt-store.ts';
import { createReceiptIntake, type OnMatched } from './receipts.ts';

const PATH = '/api/callbacks';
const tags = ['Operation'];
const EMPTY = Buffer.alloc(0);

const Params = Type.Object({ connectionName: Type.String() });
const Text = Type.String({ description: 'The requested text, or nothing.', examples: ['1158201444'] });

export type CallbackDeps = {
  /** The connections whose carriers send callbacks. */
  readonly receivers: Receivers;
  /** Stores the events of a callback; resolves when they are committed. */
  readonly storeCallback: StoreCallback;
  /** Keeps parts for a connection that is being added; resolves when they are committed. */
  readonly keepUnclaimed: KeepUnclaimed;
  readonly log: Log;
  readonly config: Pick<Config, 'publicUrl'>;
};

/**
 * Registers the callback URLs of all kinds whose carriers report delivery and inbound messages over HTTP. The carrier's
 * signature is the credential. A request gets a 200 only when everything in it is committed; a repeated one changes
 * nothing.
 */
export function callbackRoutes(app: App, deps: CallbackDeps): void {
  app.register(async (scope: App) => {
    keepRawBodies(scope);
    const known = createKnownCallers();
    for (const kind of CONNECTION_KINDS) registerKind(scope, { ...deps, known }, kind);
  });
}

type KindDeps = CallbackDeps & { readonly known: KnownCallers };

function registerKind(scope: App, deps: KindDeps, kind: ConnectionKind): void {
  const { callbacks, title } = kindOf({ kind });
  if (!callbacks) return;
  const { verification, maxBodyBytes } = callbacks;
  const url = `${PATH}/${kind}/:connectionName`;
  const name = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}Callback`;
  const schema = { tags, security: [], params: Params, produces: ['text/plain'], response: { 200: Text } };
  /** The URL as the carrier called it, which may differ from our own address: some carriers sign it. */
  const urlOf = ({ url: target }: FastifyRequest): string => `${deps.config.publicUrl}${target}`;
  const receiverOf = (request: FastifyRequest): Receiver | undefined => deps.receivers.find(kind, nameIn(request));
  const isKnownCaller = (request: FastifyRequest): boolean => {
    const receiver = receiverOf(request);
    return receiver !== undefined && deps.known.has(receiver.connectionId, request.ip);
  };
  const config = { unauthenticated: true, isKnownCaller };
  const onRequest = (request: FastifyRequest, _reply: unknown, done: HookHandlerDoneFunction): void =>
    done(receiverOf(request) ? undefined : new AppError('not_found'));
  if (verification)
    scope.get(url, {
      config,
      onRequest,
      schema: { ...schema, ...verification, operationId: `verify${name}` },
      handler: (request, reply) => {
        reply.type(PLAIN);
        const { query, headers } = request;
        return answer(deps, kind, request, reply, {
          method: 'GET',
          url: urlOf(request),
          query: asRecord(query),
          headers,
          body: EMPTY,
        });
      },
    });
  scope.post(url, {
    bodyLimit: maxBodyBytes,
    config,
    onRequest: [onRequest, requireSignature(callbacks)],
    schema: {
      ...schema,
      operationId: `receive${name}`,
      summary: `Receive statuses and messages of ${title}`,
      description: '401 when the signature is missing or does not match the body; 404 for an unknown connection.',
      response: { 200: Text, 401: ref(ErrorOut) },
    },
    handler: (request, reply) => {
      reply.type(PLAIN);
      const { query, headers, body } = request;
      const octets = Buffer.isBuffer(body) ? body : EMPTY;
      return answer(deps, kind, request, reply, {
        method: 'POST',
        url: urlOf(request),
        query: asRecord(query),
        headers,
        body: octets,
      });
    },
  });
}

const nameIn = ({ params }: FastifyRequest): string =>
  typeof params === 'object' && params !== null && 'connectionName' in params ? String(params.connectionName) : '';

/**
 * Rejects, before reading it, a body without the header of the carrier's signature, except for a short one if it may
 * lack it. Where the header depends on the settings, only the size is limited.
 */
const requireSignature =
  ({ signatureHeader, maxUnsignedBytes }: Callbacks) =>
  ({ headers }: FastifyRequest, _reply: unknown, done: HookHandlerDoneFunction): void => {
    const isShort = Number(headers['content-length'] ?? Infinity) <= maxUnsignedBytes;
    const hasSignature = signatureHeader === null || headers[signatureHeader] !== undefined;
    done(hasSignature || isShort ? undefined : forged());
  };

const forged = (): AppError =>
  new AppError('unauthenticated', { message: 'The signature is missing or does not match the body' });

const PLAIN = 'text/plain; charset=utf-8';

/** Passes bodies on as bytes, whatever their content type is. */
function keepRawBodies(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, octets, done) => done(null, octets));
}

const asRecord = (query: unknown): Record<string, unknown> =>
  typeof query === 'object' && query !== null ? { ...query } : {};

/** Stores the events of a callback and returns the text of the response. Throws the error that the carrier gets. */
async function answer(
  deps: KindDeps,
  kind: ConnectionKind,
  from: FastifyRequest,
  { raw: response }: FastifyReply,
  request: CallbackRequest,
): Promise<string> {
  const name = nameIn(from);
  // Again: it may have been removed while the body arrived.
  const receiver = deps.receivers.find(kind, name);
  if (!receiver) throw new AppError('not_found');
  const read = receiver.read(request);
  if (read.kind === 'handshake') return read.text;
  if (read.kind === 'refused') throw new AppError('forbidden');
  if (read.kind === 'forged') throw forged();
  if (read.kind === 'malformed')
    throw new AppError('invalid', { message: 'The body is not a valid callback of this carrier' });
  deps.known.add(receiver.connectionId, from.ip);
  const { claimed, unclaimed } = distribute(deps.receivers, receiver, read);
  for (const [, events] of claimed) report(deps.log, name, events);
  const answered = new Promise<void>((resolve) => void response.once('finish', () => resolve()));
  await Promise.all([
    ...claimed.map(([{ connectionId }, events]) => deps.storeCallback(connectionId, events, answered)),
    receiver.shared && deps.keepUnclaimed(receiver.shared, unclaimed),
  ]);
  return '';
}

function report(log: Log, connection: string, { notices, notes }: CallbackEvents): void {
  for (const { text, serious } of notices)
    log[serious ? 'warn' : 'info'](
      { connection, reason: text },
      'the network reports a change of the account or a sender',
    );
  for (const note of notes) log.info({ connection, reason: note }, 'skipped a part of a callback');
}

export type CallbackStoreDeps = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly onInbound: OnInbound;
  readonly onTemplatesChange: OnTemplatesChange;
  readonly onMatched?: OnMatched | undefined;
};

/**
 * Commits the events of a callback. Resolves when all of them are committed; rejects when any of them may not be.
 * `answered`: see `CarrierHost.inbound`.
 */
export type StoreCallback = (connectionId: number, events: CallbackEvents, answered?: Promise<void>) => Promise<void>;

/**
 * Maximum events that wait for their commit; above it the network is asked to try again later: it keeps them for days.
 */
const MAX_WAITING = 20_000;

/**
 * Creates the store of callbacks, which commits their events in the same way as those of SMPP. Workers are woken for
 * the receipts that are left to them, once for all that are committed together.
 */
export function createCallbackStore(deps: CallbackStoreDeps): StoreCallback {
  const { pool, clock, log, metrics, onInbound, onTemplatesChange } = deps;
  const wakeWorkers = (left: 'stored' | 'parked') => (): void => {
    notifyReceipts(pool, left).catch((err: unknown) =>
      log.warn({ err }, 'cannot wake workers for receipts: they are processed later'),
    );
  };
  const takeReceipt = createReceiptIntake({
    pool,
    now: () => clock.now(),
    log,
    onStored: wakeWorkers('stored'),
    onParked: wakeWorkers('parked'),
    onMatched: deps.onMatched,
  });
  const storeInbound = createInboundInbox({ pool, onInbound, log, metrics });
  let waiting = 0;

  return async (
    connectionId,
    { receipts, inbounds, subscriptions, templates, notices, messagingLimit: people },
    answered,
  ) => {
    const count = receipts.length + inbounds.length;
    if (waiting > 0 && waiting + count > MAX_WAITING) throw new AppError('unavailable', { retryAfterSeconds: 5 });
    waiting += count;
    try {
      await Promise.all([
        ...receipts.map((receipt: Receipt) => takeReceipt({ connectionId, receipt })),
        ...inbounds.map((inbound: Inbound) => storeInbound({ connectionId, inbound }, answered)),
        receiveSubscriptions(pool, connectionId, subscriptions),
        insertNotices(pool, { connectionId, notices }),
        people !== undefined && transaction(pool, (tx) => changeMessagingLimit(tx, { connectionId, people })),
        receiveTemplateChanges({ pool, onTemplatesChange }, connectionId, templates),
      ]);
    } finally {
      waiting -= count;
    }
  };
}

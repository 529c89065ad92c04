import type { FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { Type } from 'typebox';
import type { Config } from '../../platform/config.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { ErrorOut, ref } from '../../platform/http/schema.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Receiver, Receivers } from '../../network/connections/receivers.ts';
import type { StoreCallback } from './store.ts';
import type { CallbackRequest } from '../../network/connections/kinds/callback.ts';
import { createKnownSenders, type KnownSenders } from './known-senders.ts';
import type { Callbacks } from '../../network/connections/kinds/callback.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../../network/connections/kinds/kinds.ts';

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
    const known = createKnownSenders();
    for (const kind of CONNECTION_KINDS) registerKind(scope, { ...deps, known }, kind);
  });
}

type KindDeps = CallbackDeps & { readonly known: KnownSenders };

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
    return receiver !== undefined && deps.known.has(receiver, request.ip);
  };
  const config = { stranger: true, isKnownCaller };
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
        return answer(deps, kind, request, {
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
      return answer(deps, kind, request, {
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
  deps.known.add(receiver, from.ip);
  for (const { text, serious } of read.notices)
    deps.log[serious ? 'warn' : 'info'](
      { connection: name, reason: text },
      'the network reports a change of the account or a sender',
    );
  for (const note of read.notes) deps.log.info({ connection: name, reason: note }, 'skipped a part of a callback');
  await deps.storeCallback(receiver.connectionId, read);
  return '';
}

import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Receivers } from '../../network/connections/receivers.ts';
import type { StoreCallback } from './store.ts';
import type { CallbackRequest } from '../../network/connections/kinds/callback.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../../network/connections/kinds/kinds.ts';

/** Meta sends up to 3 MB. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const PATH = '/api/callbacks';
const tags = ['Operation'];
const EMPTY = Buffer.alloc(0);

const Params = Type.Object({ connectionName: Type.String() });
const Text = Type.String({ description: 'The requested text, or nothing.' });

export type CallbackDeps = {
  /** The connections whose carriers send callbacks. */
  readonly receivers: Receivers;
  /** Stores the events of a callback; resolves when they are committed. */
  readonly storeCallback: StoreCallback;
  readonly log: Log;
};

/**
 * Registers the callback URLs of all kinds whose carriers report delivery and inbound messages by HTTP. The carrier's
 * signature is the credential. A request is answered 200 only when everything in it is committed; a repeated one
 * changes nothing.
 */
export function callbackRoutes(app: App, deps: CallbackDeps): void {
  app.register(async (scope: App) => {
    keepRawBodies(scope);
    for (const kind of CONNECTION_KINDS) registerKind(scope, deps, kind);
  });
}

function registerKind(scope: App, deps: CallbackDeps, kind: ConnectionKind): void {
  const { callbacks, title } = kindOf({ kind });
  if (!callbacks) return;
  const { verification } = callbacks;
  const url = `${PATH}/${kind}/:connectionName`;
  const name = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}Callback`;
  const schema = { tags, security: [], params: Params, response: { 200: Text } };
  if (verification)
    scope.get(url, {
      schema: { ...schema, ...verification, operationId: `verify${name}` },
      handler: ({ params, query, headers }, reply) => {
        reply.type(PLAIN);
        const request = { method: 'GET', query: asRecord(query), headers, body: EMPTY } as const;
        return answer(deps, kind, params.connectionName, request);
      },
    });
  scope.post(url, {
    bodyLimit: MAX_BODY_BYTES,
    schema: {
      ...schema,
      operationId: `receive${name}`,
      summary: `Receive statuses and messages of ${title}`,
      description: '401 when the signature is missing or does not match the body; 404 for an unknown connection.',
    },
    handler: ({ params, query, headers, body }, reply) => {
      reply.type(PLAIN);
      const octets = Buffer.isBuffer(body) ? body : EMPTY;
      const request = { method: 'POST', query: asRecord(query), headers, body: octets } as const;
      return answer(deps, kind, params.connectionName, request);
    },
  });
}

const PLAIN = 'text/plain; charset=utf-8';

/** Passes bodies on as octets, whatever their content type is. */
function keepRawBodies(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, octets, done) => done(null, octets));
}

const asRecord = (query: unknown): Record<string, unknown> =>
  typeof query === 'object' && query !== null ? { ...query } : {};

/** Stores the events of a callback and returns the text of the answer. Throws the error that the carrier gets. */
async function answer(
  deps: CallbackDeps,
  kind: ConnectionKind,
  name: string,
  request: CallbackRequest,
): Promise<string> {
  const receiver = deps.receivers.find(kind, name);
  if (!receiver) throw new AppError('not_found');
  const read = receiver.read(request);
  if (read.kind === 'handshake') return read.text;
  if (read.kind === 'refused') throw new AppError('forbidden');
  if (read.kind === 'forged')
    throw new AppError('unauthenticated', { message: 'The signature is missing or does not match the body' });
  if (read.kind === 'malformed')
    throw new AppError('invalid', { message: 'The body is not a valid callback of this carrier' });
  for (const note of read.notes) deps.log.info({ connection: name, reason: note }, 'skipped a part of a callback');
  await deps.storeCallback(receiver.connectionId, read);
  return '';
}

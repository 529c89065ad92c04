import type { FastifyReply } from 'fastify';
import { isRecord } from '../lib/is-record.ts';
import { mapInSlices, nextTurn } from '../lib/background/slices.ts';
import type { App } from './app.ts';

/** Bodies from this size: the steps (parsing, validation, handler) are separate turns of the event loop. */
const LARGE_BODY_BYTES = 256 * 1024;
/** Responses from this length are encoded once, not for each part that the socket takes. */
const LARGE_TEXT = 64 * 1024;
/** Pages from this number of entries are serialized in slices. */
const LARGE_PAGE_ENTRIES = 50;
/** Number of entries serialized together: few enough for the largest entries, some 100 KB each. */
const ENTRIES_PER_PIECE = 10;

/**
 * Keeps large requests and responses from holding the event loop: the steps of a large body give turns to other
 * requests, and the `data` of a long page is serialized in slices. The bytes of the response are the same.
 */
export function shareLoopInLargeMessages(app: App): void {
  app.addHook('preValidation', ({ headers }, _reply, done) => {
    if (isLarge(headers)) void nextTurn().then(() => done());
    else done();
  });
  app.addHook('preHandler', ({ headers }, _reply, done) => {
    if (isLarge(headers)) void nextTurn().then(() => done());
    else done();
  });
  app.addHook('preSerialization', (_request, reply, payload: unknown, done) => {
    if (!isLongPage(payload)) return done(null, payload);
    serializePage(reply, payload).then(
      (octets) => {
        reply.serializer(asIs);
        done(null, octets);
      },
      (error: Error) => done(error),
    );
  });
  app.addHook('onSend', (_request, _reply, payload, done) => {
    done(null, typeof payload === 'string' && payload.length >= LARGE_TEXT ? Buffer.from(payload) : payload);
  });
}

/** Serializer of already serialized data. Fastify sends bytes as well, despite its type. */
const asIs = (octets: unknown): string => octets as string;

type Sending = {
  serializer(serialize: (payload: unknown) => string): unknown;
  header(name: string, value: string): unknown;
};

/**
 * Sends text that is JSON already as the response of a handler: nothing parses or serializes it, or checks it against
 * the schema of the response.
 */
export function jsonText(reply: Sending, text: string): never {
  reply.header('content-type', 'application/json; charset=utf-8');
  reply.serializer(asIs);
  return text as never;
}

type Headers = { readonly 'content-length'?: string | undefined; readonly 'transfer-encoding'?: string | undefined };

/** A body without a length may be large. */
const isLarge = (headers: Headers): boolean =>
  Number(headers['content-length'] ?? 0) >= LARGE_BODY_BYTES || headers['transfer-encoding'] !== undefined;

type LongPage = { readonly data: readonly unknown[] };

const isLongPage = (payload: unknown): payload is LongPage =>
  isRecord(payload) && 'data' in payload && Array.isArray(payload.data) && payload.data.length >= LARGE_PAGE_ENTRIES;

/** Serializes a page piece by piece: each piece is a separate page, whose entries are cut out. */
async function serializePage(reply: FastifyReply, page: LongPage): Promise<Buffer> {
  const serialize: (payload: unknown) => string =
    reply.getSerializationFunction(String(reply.statusCode)) ?? JSON.stringify;
  const withData = (data: readonly unknown[]): string => serialize({ ...page, data });
  const frame = withData([]);
  // Within a text, the quotes would be escaped.
  const at = frame.indexOf('"data":[') + '"data":['.length;
  const tailLength = frame.length - at;
  const pieces = await mapInSlices(piecesOf(page.data), (entries, i) => {
    const text = withData(entries);
    return Buffer.from(`${i > 0 ? ',' : ''}${text.slice(at, text.length - tailLength)}`);
  });
  return Buffer.concat([Buffer.from(frame.slice(0, at)), ...pieces, Buffer.from(frame.slice(at))]);
}

const piecesOf = (entries: readonly unknown[]): (readonly unknown[])[] =>
  Array.from({ length: Math.ceil(entries.length / ENTRIES_PER_PIECE) }, (_, i) =>
    entries.slice(i * ENTRIES_PER_PIECE, (i + 1) * ENTRIES_PER_PIECE),
  );

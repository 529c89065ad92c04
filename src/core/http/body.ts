import { isUtf8 } from 'node:buffer';
import createSerializerFactory from '@fastify/fast-json-stringify-compiler';
import type { FastifyReply, FastifyRequest, FastifySerializerCompiler } from 'fastify';
import { lazily, mapInSlices, nextTurn } from '../background.ts';
import { AppError, type FieldError } from '../errors.ts';
import { isRecord } from '../schema.ts';
import { type App, optionsOf } from './app.ts';

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Makes JSON the only accepted body: any other type is 415 (features that accept files add their own parser in their
 * own scope), and so is a compressed one. An empty body counts as no body, whatever its type. Bytes that are not UTF-8
 * are rejected, since decoding them would put U+FFFD into a message; so are unpaired surrogates, which UTF-8 cannot
 * represent, and U+0000, which PostgreSQL cannot store: one such text would fail every message that is committed with
 * it. The keys `__proto__` and `constructor.prototype` are rejected. A body that has more values than its route can
 * use, or an object with more than 1,000 fields (413), or more than 64 levels (400), is rejected before it is parsed.
 */
export function acceptJsonBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done: Done) => {
    if (bytes.length === 0) return done(null, undefined);
    if (isCompressed(request)) return done(new AppError('unsupported_media_type', { message: COMPRESSED }));
    let body: unknown;
    try {
      body = parseJson(bytes, optionsOf(request).schema?.body);
    } catch (error) {
      return done(error as Error);
    }
    done(null, body);
  });
  // HTTP libraries declare the body of a POST as a form even if there is none.
  app.addContentTypeParser('*', ({ headers }, _body, done: Done) =>
    headers['content-length'] === '0' ? done(null, undefined) : done(new AppError('unsupported_media_type')),
  );
}

const COMPRESSED = 'Unsupported content coding: send the body uncompressed';

const isCompressed = ({ headers: { 'content-encoding': coding } }: FastifyRequest): boolean =>
  coding !== undefined && coding.toLowerCase() !== 'identity';

/** A field name that could be one of the two that are rejected; with an escape, any could be. */
const SUSPICIOUS = /__proto__|constructor|\\u/;

/** Parses a body for a schema. Errors: 400, or 413 if it has more values than the schema can use. */
export function parseJson(bytes: Buffer, schema: unknown): unknown {
  if (!isUtf8(bytes)) throw new AppError('malformed_json', { message: 'The body is not UTF-8' });
  const fault = findJsonFault(bytes, maxValuesOf(schema));
  if (fault !== null) throw REFUSALS[fault]();
  const text = bytes.toString('utf8');
  const document = parseText(text);
  if (SUSPICIOUS.test(text) && changesPrototypes(document)) throw new AppError('malformed_json');
  return document;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new AppError('malformed_json', { cause });
  }
}

/** Returns true if an object would change a prototype if its fields were copied one by one. */
function changesPrototypes(document: unknown): boolean {
  const waiting = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (!isRecord(value)) continue;
    if (!Array.isArray(value) && hasPrototypeField(value)) return true;
    for (const child of Array.isArray(value) ? value : Object.values(value)) if (isRecord(child)) waiting.push(child);
  }
  return false;
}

function hasPrototypeField(object: Record<string, unknown>): boolean {
  if (Object.hasOwn(object, '__proto__')) return true;
  if (!Object.hasOwn(object, 'constructor')) return false;
  const own = object['constructor'];
  return isRecord(own) && Object.hasOwn(own, 'prototype');
}

const REFUSALS: Readonly<Record<JsonFault, () => AppError>> = {
  too_many_values: () => new AppError('too_large', { message: 'The body has more values than this path can use' }),
  too_many_fields: () =>
    new AppError('too_large', { message: `The body has an object with more than ${MAX_FIELDS} fields` }),
  too_deep: () => invalidBody(`must not have more than ${MAX_DEPTH} levels`, 'The body is nested too deeply'),
  nul: () => nulError('body'),
  surrogate: () => invalidBody('must not contain an unpaired surrogate', 'Unpaired surrogates are not allowed'),
};

const invalidBody = (message: string, summary: string, field = 'body'): AppError => {
  const details: FieldError[] = [{ field, message }];
  return new AppError('invalid', { message: summary, details });
};

/** 400 for the character U+0000 in the field. */
export const nulError = (field: string): AppError =>
  invalidBody('must not contain the character U+0000', 'The character U+0000 is not allowed', field);

/** Maximum number of values in a body, whatever its schema allows. */
export const MAX_VALUES = 250_000;
/** Fields that no schema knows are ignored, so a body may have some. */
const EXTRA_VALUES = 1_500;
/** Maximum number of fields of an object with any names, unless its schema states one. */
const MAX_RECORD_FIELDS = 1_000;

const known = new WeakMap<object, number>();

/**
 * Returns the maximum number of values of a body with this schema, including objects and lists: the maximum that the
 * schema accepts, and 1,500 for fields that it does not know. At most 250,000; that also holds without a schema and for
 * lists without `maxItems`.
 */
export function maxValuesOf(schema: unknown): number {
  if (!isRecord(schema)) return MAX_VALUES;
  const limit = known.get(schema) ?? Math.min(mostValues(schema) + EXTRA_VALUES, MAX_VALUES);
  known.set(schema, limit);
  return limit;
}

/** The largest number of values that a schema accepts; infinite if it sets no limit. */
function mostValues(schema: unknown): number {
  if (!isRecord(schema)) return schema === true ? Number.POSITIVE_INFINITY : 1;
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches)) return Math.max(...branches.map(mostValues));
  // Any value, or a form that is not read here.
  if (!('type' in schema || 'const' in schema || 'enum' in schema)) return Number.POSITIVE_INFINITY;
  const { items, maxItems, properties, patternProperties, additionalProperties, maxProperties } = schema;
  if (items !== undefined) return 1 + numberOr(maxItems, Number.POSITIVE_INFINITY) * mostValues(items);
  const named = valuesOf(properties).reduce((sum: number, property) => sum + mostValues(property), 1);
  const others = [...valuesOf(patternProperties), additionalProperties ?? false].filter((other) => other !== false);
  if (others.length === 0) return named;
  return named + numberOr(maxProperties, MAX_RECORD_FIELDS) * Math.max(...others.map(mostValues));
}

const numberOr = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
const valuesOf = (value: unknown): unknown[] => (isRecord(value) ? Object.values(value) : []);

/** Reason to reject a JSON text before it is parsed. */
type JsonFault = 'too_many_values' | 'too_many_fields' | 'too_deep' | 'nul' | 'surrogate';

/** Maximum depth; the deepest body of the interface has about ten levels. */
export const MAX_DEPTH = 64;
/** Maximum fields of an object: larger ones become hash tables, which are slow to parse and to walk. */
export const MAX_FIELDS = 1_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Scans a JSON text for content that would be expensive to parse and validate, and for escapes that stand for no
 * character that can be stored: U+0000 and unpaired surrogates. One pass takes 1 to 2 ms for 1 MiB, parsing an object
 * of the same size 30 to 100 ms. The text must be UTF-8. It is not checked to be valid JSON.
 */
export function findJsonFault(bytes: Uint8Array, maxValues: number): JsonFault | null {
  const shape: Shape = { values: 1, depth: 0, fields: new Uint16Array(MAX_DEPTH + 1) };
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) {
      const end = skipString(bytes, at + 1);
      if (typeof end !== 'number') return end;
      at = end;
    } else {
      const fault = count(shape, bytes[at], maxValues);
      if (fault !== null) return fault;
    }
  }
  return null;
}

/** Counts so far: the number of values, and the number of fields of the open object of each level. */
type Shape = { values: number; depth: number; readonly fields: Uint16Array };

/** Counts a byte that is not part of a string. A list or an object has one value more than it has commas. */
function count(shape: Shape, byte: number | undefined, maxValues: number): JsonFault | null {
  if (byte === COLON) return countField(shape);
  if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) shape.depth = Math.max(shape.depth - 1, 0);
  const isOpening = byte === OPEN_BRACE || byte === OPEN_BRACKET;
  if (!isOpening && byte !== COMMA) return null;
  if (++shape.values > maxValues) return 'too_many_values';
  if (!isOpening) return null;
  if (++shape.depth > MAX_DEPTH) return 'too_deep';
  shape.fields[shape.depth] = 0;
  return null;
}

function countField({ fields, depth }: Shape): JsonFault | null {
  const fieldsHere = (fields[depth] ?? 0) + 1;
  fields[depth] = fieldsHere;
  return fieldsHere > MAX_FIELDS ? 'too_many_fields' : null;
}

/** Returns the position of the quote that ends a string, or the error in an escape in it. */
function skipString(bytes: Uint8Array, from: number): number | JsonFault {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) {
    if (bytes[at] !== BACKSLASH) at++;
    else {
      const unit = escapedUnit(bytes, at);
      if (unit === 0) return 'nul';
      const isPair = isBetween(unit, 0xd800, 0xdbff) && isBetween(escapedUnit(bytes, at + 6), 0xdc00, 0xdfff);
      if (isBetween(unit, 0xd800, 0xdfff) && !isPair) return 'surrogate';
      at += isPair ? 12 : 2;
    }
  }
  return at;
}

const isBetween = (unit: number, first: number, last: number): boolean => unit >= first && unit <= last;

/** The code unit of the escape `\uXXXX` at this place; -1 if there is none. */
function escapedUnit(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== SMALL_U) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = unit * 16 + hexDigit(bytes[i] ?? 0);
  return unit;
}

/** The value of a hexadecimal digit. Anything else makes the code unit useless, and the text invalid JSON. */
const hexDigit = (byte: number): number => (byte < 0x3a ? byte - 0x30 : (byte | 0x20) - 0x57);

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
      (bytes) => {
        reply.serializer(asIs);
        done(null, bytes);
      },
      (error: Error) => done(error),
    );
  });
  app.addHook('onSend', (_request, _reply, payload, done) => {
    done(null, typeof payload === 'string' && payload.length >= LARGE_TEXT ? Buffer.from(payload) : payload);
  });
}

/** Serializer of already serialized data. Fastify sends bytes as well, despite its type. */
const asIs = (bytes: unknown): string => bytes as string;

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

/**
 * Compiles the schema of a response when the first one is sent: those of all routes together take a second, and a
 * process needs few of them. `shared` returns the schemas that others refer to by their `$id`.
 */
export function serializerCompiler(shared: () => Record<string, unknown>): FastifySerializerCompiler<unknown> {
  const compile = lazily(() => createSerializerFactory()(shared()));
  return ({ method, url, httpStatus = '', schema }) => {
    const serialize = lazily(() => compile()({ method, url, httpStatus, schema }));
    return (response: unknown) => serialize()(response);
  };
}

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

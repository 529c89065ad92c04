import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { AppError, type FieldError } from '../errors.ts';
import { isRecord } from '../lib/is-record.ts';
import type { App } from './app.ts';
import { maxValuesOf } from './body-limits.ts';
import { findJsonFault, type JsonFault, MAX_DEPTH, MAX_FIELDS } from './body-scan.ts';

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
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, octets: Buffer, done: Done) => {
    if (octets.length === 0) return done(null, undefined);
    if (isCompressed(request)) return done(new AppError('unsupported_media_type', { message: COMPRESSED }));
    if (!isUtf8(octets)) return done(new AppError('malformed_json', { message: 'The body is not UTF-8' }));
    const fault = findJsonFault(octets, maxValuesOf(request.routeOptions.schema?.body));
    if (fault !== null) return done(REFUSALS[fault]());
    parseText(octets.toString('utf8'), done);
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

function parseText(text: string, done: Done): void {
  let body: unknown;
  try {
    body = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    return done(new AppError('malformed_json', { cause }));
  }
  if (SUSPICIOUS.test(text) && changesPrototypes(body)) return done(new AppError('malformed_json'));
  done(null, body);
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

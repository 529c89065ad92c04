import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { valuesIn } from '../lib/walk.ts';
import type { App } from './app.ts';

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Makes JSON the only accepted body: any other type is 415 (features that accept files add their own parser in their
 * own scope). An empty body counts as no body. Bytes that are not UTF-8 are rejected, since decoding them would put
 * U+FFFD into somebody's message; so are unpaired surrogates, which UTF-8 cannot represent, and U+0000, which
 * PostgreSQL cannot store: one such text would fail every message that is committed with it. The keys `__proto__` and
 * `constructor.prototype` are rejected.
 */
export function acceptJsonBodies(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, octets: Buffer, done: Done) => {
    if (octets.length === 0) return done(null, undefined);
    if (!isUtf8(octets)) return done(new AppError('malformed_json', { message: 'The body is not UTF-8' }));
    parseText(parse, request, octets.toString('utf8'), done);
  });
}

type Parse = ReturnType<App['getDefaultJsonParser']>;

function parseText(parse: Parse, request: FastifyRequest, text: string, done: Done): void {
  void parse(request, text, (error, body) => {
    if (error) done(new AppError('malformed_json', { cause: error }));
    else if (text.includes('\\u0000') && containsText(body, (part) => part.includes('\0'))) done(nulError('body'));
    else if (SURROGATE.test(text) && containsText(body, (part) => !part.isWellFormed())) done(surrogateError());
    else done(null, body);
  });
}

/** The escape of a surrogate. Mostly one of two that together are a whole character, so this is only a first check. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Whether a string value or a field name is wrong. Searching for the escape alone would also find an escaped backslash.
 */
function containsText(document: unknown, isWrong: (text: string) => boolean): boolean {
  for (const value of valuesIn(document)) {
    if (typeof value === 'string' && isWrong(value)) return true;
    if (typeof value === 'object' && value !== null && Object.keys(value).some(isWrong)) return true;
  }
  return false;
}

const surrogateError = (): AppError =>
  new AppError('invalid', {
    message: 'Unpaired surrogates are not allowed',
    details: [{ field: 'body', message: 'must not contain an unpaired surrogate' }],
  });

/** 400 for the character U+0000 in the field. */
export const nulError = (field: string): AppError =>
  new AppError('invalid', {
    message: 'The character U+0000 is not allowed',
    details: [{ field, message: 'must not contain the character U+0000' }],
  });

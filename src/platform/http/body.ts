import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { valuesIn } from '../lib/walk.ts';
import type { App } from './app.ts';

type Done = (error: Error | null, body?: unknown) => void;

/**
 * JSON is the only body that the interface reads: a body of any other type is 415 (a feature that takes files adds
 * its own parser in its own scope). An empty body reads as none. Octets that are not UTF-8 are refused, since decoding
 * would put U+FFFD into somebody's message, and so is U+0000, which PostgreSQL cannot store: one such text would fail
 * every message that is committed together with it. Half of a surrogate pair, which UTF-8 cannot hold, is refused for the
 * same reason as octets that are not UTF-8. Keys `__proto__` and `constructor.prototype` are refused.
 */
export function readJsonBodies(app: App): void {
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
    else if (text.includes('\\u0000') && holds(body, (part) => part.includes('\0'))) done(nulRefused('body'));
    else if (SURROGATE.test(text) && holds(body, (part) => !part.isWellFormed())) done(halfPairRefused());
    else done(null, body);
  });
}

/** The escape of half a pair: of a whole character, mostly, which two such escapes make. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** In a text or in a field's name. A search for the escape alone would also find a backslash before `u0000`. */
function holds(document: unknown, isWrong: (text: string) => boolean): boolean {
  for (const value of valuesIn(document)) {
    if (typeof value === 'string' && isWrong(value)) return true;
    if (typeof value === 'object' && value !== null && Object.keys(value).some(isWrong)) return true;
  }
  return false;
}

const halfPairRefused = (): AppError =>
  new AppError('invalid', {
    message: 'Half of a surrogate pair is no character',
    details: [{ field: 'body', message: 'must not hold half of a surrogate pair' }],
  });

export const nulRefused = (field: string): AppError =>
  new AppError('invalid', {
    message: 'The character U+0000 is not allowed',
    details: [{ field, message: 'must not hold the character U+0000' }],
  });

import { expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { asAppError } from './errors.ts';

const withCode = (code: string, extra: object = {}) => Object.assign(new Error('inner text'), { code, ...extra });

test('an AppError is the same error', () => {
  const error = new AppError('conflict');
  expect(asAppError(error)).toBe(error);
});

test.each([
  ...['08006', '08P01', '53100', '53300', '57P01', '57P03', '57014', '40001', '40P01', '25P03'].map((c) => withCode(c)),
  ...['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EAI_AGAIN'].map((c) => withCode(c)),
  new AggregateError([withCode('ECONNREFUSED')], 'all failed'),
  new Error('timeout exceeded when trying to connect'),
  new Error('Connection terminated unexpectedly'),
  Object.assign(new Error('connect ENOENT /data/postgres/.s.PGSQL.5432'), { code: 'ENOENT' }),
  new Error('Cannot use a pool after calling end on the pool'),
])('a database that is away is 503 with Retry-After: %s', (error) => {
  expect(asAppError(error)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 2, cause: error });
});

test.each([
  [withCode('FST_ERR_CTP_BODY_TOO_LARGE', { statusCode: 413 }), 'too_large'],
  [withCode('FST_ERR_CTP_INVALID_MEDIA_TYPE', { statusCode: 415 }), 'unsupported_media_type'],
  [withCode('FST_ERR_BAD_URL', { statusCode: 400 }), 'invalid'],
  [withCode('FST_ERR_MAX_PARAM_LENGTH', { statusCode: 414 }), 'not_found'],
  [withCode('FST_REQ_FILE_TOO_LARGE', { statusCode: 413 }), 'too_large'],
  [withCode('X', { statusCode: 429 }), 'rate_limited'],
  [withCode('X', { statusCode: 418 }), 'invalid'],
])('a client error of the framework keeps its meaning: %s', (error, code) => {
  expect(asAppError(error).code).toBe(code);
});

test.each([
  withCode('23505', { detail: 'Key (name)=(secret)' }),
  withCode('X', { statusCode: 500 }),
  Object.assign(new Error("ENOENT: no such file or directory, open '/data/a'"), { code: 'ENOENT' }),
  new TypeError('x is not a function'),
  'a string',
  undefined,
])('anything else is 500 and its text stays inside: %s', (error) => {
  const failure = asAppError(error);
  expect(failure).toMatchObject({ code: 'internal', message: 'Internal error', cause: error });
});

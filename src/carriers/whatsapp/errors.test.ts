import { describe, expect, test } from 'vitest';
import { classOf, classOfHttp, statusOfFailure, readGraphError } from './errors.ts';

describe('a code', () => {
  test.each([
    [0, 'token'],
    [190, 'token'],
    [3, 'hold'],
    [10, 'hold'],
    [200, 'hold'],
    [299, 'hold'],
    [4, 'busy'],
    [80007, 'busy'],
    [130429, 'busy'],
    [131057, 'busy'],
    [2, 'busy'],
    [133004, 'busy'],
    [1, 'repeat'],
    [131000, 'repeat'],
    [131056, 'pair'],
    [132069, 'later'],
    [131026, 'refuse'],
    [131049, 'refuse'],
    [133010, 'refuse'],
  ])('%i asks for %s, whatever the HTTP status', (code, act) => {
    expect([200, 400, 401, 500].map((status) => classOf(code, status).act)).toEqual([act, act, act, act]);
  });

  test.each([
    [400, 'refuse'],
    [401, 'token'],
    [403, 'hold'],
    [404, 'refuse'],
    [408, 'later'],
    [429, 'busy'],
    [302, 'hold'],
    [500, 'later'],
    [503, 'later'],
  ])('that is not listed is classified by the HTTP status: %i is %s', (status, act) => {
    expect(classOf(987_654, status).act).toBe(act);
    expect(classOfHttp(status).act).toBe(act);
  });

  test('of a failure after acceptance leads to a final state', () => {
    expect([131026, 131047, 131050, 131016, null].map(statusOfFailure)).toEqual([
      'UNSUPPORTED',
      'CONVERSATION_CLOSED',
      'DISABLED',
      'ERROR',
      'ERROR',
    ]);
  });
});

describe('an error object', () => {
  test('has its code and its text', () => {
    const error = { message: '(#130429) Rate limit hit', code: 130429, error_data: { details: 'Too fast' } };
    expect(readGraphError(error)).toEqual({ code: 130429, text: '(#130429) Rate limit hit: Too fast' });
  });

  test('may have its code as a number or as a string', () => {
    expect(readGraphError({ code: '190', message: 'M' })).toEqual({ code: 190, text: 'M' });
  });

  test('does not repeat the title', () => {
    expect(readGraphError({ code: 1, title: 'T', message: 'M', error_data: { details: 'T' } })?.text).toBe('T');
  });

  test.each([
    null,
    'x',
    {},
    { code: 'x' },
    { code: null },
    { code: '' },
    { code: [] },
    { code: { toString: 1 } },
    { code: 1.5 },
  ])('is invalid: %j', (json) => {
    expect(readGraphError(json)).toBeNull();
  });
});

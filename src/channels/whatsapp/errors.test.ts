import { describe, expect, test } from 'vitest';
import { classOf, classOfHttp, explain, readGraphError, statusOfFailure } from './client.ts';
import { KNOWN_ERRORS } from './error-table.ts';

const error = (code: number, text = 'text') => ({ code, text });

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
    [131005, 'hold'],
    [134101, 'later'],
  ])('%i asks for %s, whatever the HTTP status', (code, act) => {
    expect([200, 400, 401, 500].map((status) => classOf(error(code), status).act)).toEqual([act, act, act, act]);
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
    expect(classOf(error(987_654), status).act).toBe(act);
    expect(classOfHttp(status).act).toBe(act);
  });

  test.each([
    [130497, 'message'],
    [131063, 'message'],
    [131030, 'message'],
    [131031, 'account'],
    [131042, 'account'],
    [133010, 'account'],
  ])('%i blames the %s', (code, blames) => {
    expect(classOf(error(code), 400)).toMatchObject({ act: 'refuse', blames });
  });

  test('100 waits for a person when it concerns the app secret or an object that the token cannot see', () => {
    const texts = [
      'Invalid appsecret_proof provided in the API argument',
      'API calls from the server require an appsecret_proof argument',
      "Unsupported post request. Object with ID '1' does not exist, cannot be loaded due to missing permissions",
      '(#100) Invalid parameter',
    ];
    expect(texts.map((text) => classOf(error(100, text), 400).act)).toEqual(['token', 'token', 'hold', 'refuse']);
  });

  test('stands in one row of the table, with what it means and what to do', () => {
    const codes = KNOWN_ERRORS.flatMap((known) => known.codes);
    expect(codes.toSorted()).toEqual([...new Set(codes)].toSorted());
    for (const { meaning, advice } of KNOWN_ERRORS)
      for (const sentence of [meaning, advice]) expect(sentence).toMatch(/^[A-Z].*\.$/);
  });

  test('of a failure after acceptance leads to a final state', () => {
    expect([131026, 131047, 130403, 131016, null].map(statusOfFailure)).toEqual([
      'UNSUPPORTED',
      'CONVERSATION_CLOSED',
      'DISABLED',
      'ERROR',
      'ERROR',
    ]);
  });
});

test('an explanation has the text of the network, what it means and what to do', () => {
  expect(explain(error(131042, 'Business eligibility payment issue'))).toBe(
    'Business eligibility payment issue. There is a problem with the payment. ' +
      'Check the payment method, credit line, currency and time zone of the account in WhatsApp Manager.',
  );
  expect(explain(error(987_654, 'Something new'))).toBe('Something new');
});

describe('an error object', () => {
  test('has its code and its text', () => {
    const limit = { message: '(#130429) Rate limit hit', code: 130429, error_data: { details: 'Too fast' } };
    expect(readGraphError(limit)).toEqual({ code: 130429, text: '(#130429) Rate limit hit: Too fast' });
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

import { expect, test } from 'vitest';
import { verdictOf } from './client.ts';

const answer = (status: number, error: object | null, headers = {}) =>
  verdictOf({ kind: 'answered', status, headers, body: Buffer.from(error === null ? '' : JSON.stringify({ error })) });

test.each([
  [200, {}, { act: 'accepted' }],
  [409, {}, { act: 'accepted' }],
  [400, { status: 'INVALID_ARGUMENT', message: 'Bad phone.' }, { act: 'refuse', status: 'ERROR', account: false }],
  [400, { message: 'The device does not support RICHCARD_CAROUSEL.' }, { act: 'refuse', status: 'UNSUPPORTED' }],
  [401, { status: 'UNAUTHENTICATED' }, { act: 'token', code: 'UNAUTHENTICATED' }],
  [403, { status: 'PERMISSION_DENIED' }, { act: 'refuse', status: 'ERROR', account: true }],
  [404, { status: 'NOT_FOUND' }, { act: 'refuse', status: 'UNSUPPORTED', account: false, code: 'NOT_FOUND' }],
  [413, {}, { act: 'refuse', status: 'ERROR', code: 'HTTP_413' }],
  [429, { status: 'RESOURCE_EXHAUSTED' }, { act: 'throttled', minPauseMs: 0 }],
  [500, {}, { act: 'later', code: 'HTTP_500' }],
  [502, {}, { act: 'later' }],
  [503, {}, { act: 'busy' }],
  [504, {}, { act: 'later' }],
  [302, {}, { act: 'later' }],
])('%d %o has its verdict', (status, error, verdict) => {
  expect(answer(status, error)).toMatchObject(verdict);
});

test('Retry-After is respected', () => {
  expect(answer(429, {}, { 'retry-after': '3' })).toMatchObject({ act: 'throttled', minPauseMs: 3000 });
});

test('a response without an error text still has a code and a text', () => {
  expect(answer(404, null)).toMatchObject({ code: 'HTTP_404', text: 'HTTP 404' });
});

test.each([true, false])('a missing response keeps whether the request was written: %s', (written) => {
  expect(verdictOf({ kind: 'failed', written, reason: 'cut' })).toMatchObject({
    act: 'no-answer',
    written,
    text: 'cut',
  });
});

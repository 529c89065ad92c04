import { expect, test } from 'vitest';
import { describeStatus, FAILURES_WORST_FIRST, isFinal, nameOfStatus, STATUS, STATUS_NAMES } from './message-state.ts';

test('every status has its code in the specification', () => {
  expect(STATUS).toEqual({
    UNKNOWN: 0,
    ACCEPTED: 1,
    REJECTED: 2,
    DELIVERED: 3,
    EXPIRED: 4,
    DELETED: 5,
    UNDELIVERABLE: 6,
    ERROR: 9,
    DISABLED: 10,
    UNSUPPORTED: 11,
    CONVERSATION_CLOSED: 12,
  });
});

test('a code has its name, and a number that is no code has UNKNOWN', () => {
  expect(STATUS_NAMES.map((name) => nameOfStatus(STATUS[name]))).toEqual(STATUS_NAMES);
  expect([7, 8, -1, 13].map(nameOfStatus)).toEqual(Array(4).fill('UNKNOWN'));
});

test('only UNKNOWN and ACCEPTED may still change', () => {
  expect(STATUS_NAMES.filter((name) => !isFinal(STATUS[name]))).toEqual(['UNKNOWN', 'ACCEPTED']);
});

test('descriptions are plain words', () => {
  expect(describeStatus('ERROR')).toBe('general error');
  expect(describeStatus('CONVERSATION_CLOSED')).toBe('conversation closed');
  expect(describeStatus('DELIVERED')).toBe('delivered');
});

test('a delivery is not a failure, and every failure is final', () => {
  expect(FAILURES_WORST_FIRST).not.toContain(STATUS.DELIVERED);
  expect(FAILURES_WORST_FIRST.every(isFinal)).toBe(true);
});
